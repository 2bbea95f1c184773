"""Networks trained with consistency between views."""
