"""GCNs trained with consistency between views."""
