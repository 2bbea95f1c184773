// How classes look on the map: eight colours, then the next shape.
const COLOURS = 8;
const SHAPES = ["circle", "triangle", "square", "diamond", "cross"];

/** Add one mark to a path. */
function trace(path, shape, x, y, r) {
  if (shape === "circle") { path.moveTo(x + r, y); path.arc(x, y, r, 0, 7); return; }
  if (shape === "square") { path.rect(x - r * 0.9, y - r * 0.9, r * 1.8, r * 1.8); return; }
  const corners = {
    triangle: [[0, -1.25], [1.1, 0.75], [-1.1, 0.75]],
    diamond: [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]],
    cross: [[-0.4, -1.2], [0.4, -1.2], [0.4, -0.4], [1.2, -0.4], [1.2, 0.4], [0.4, 0.4], [0.4, 1.2], [-0.4, 1.2],
      [-0.4, 0.4], [-1.2, 0.4], [-1.2, -0.4], [-0.4, -0.4]],
  }[shape];
  corners.forEach(([dx, dy], place) => path[place ? "lineTo" : "moveTo"](x + r * dx, y + r * dy));
  path.closePath();
}
