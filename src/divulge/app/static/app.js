"use strict";
/* Draws the figures that pages carry as data, passes dropped files to the form, and follows clicks on points. */
(function () {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  function draw(root) {
    root.querySelectorAll(".figure[data-figure]").forEach(function (place) {
      const figure = JSON.parse(place.dataset.figure);
      const ink = getComputedStyle(document.body).color;
      const rule = dark.matches ? "#3a444c" : "#d8dee3";
      const layout = Object.assign({ paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: ink, size: 14 } }, figure.layout);
      ["xaxis", "yaxis"].forEach(function (axis) { layout[axis] = Object.assign({ gridcolor: rule, linecolor: rule, zerolinecolor: rule }, layout[axis]); });
      Plotly.react(place, figure.data, layout, { responsive: true, displayModeBar: false });
      if (place.dataset.choose) {
        place.on("plotly_click", function (event) {
          const field = document.getElementById(place.dataset.choose);
          field.value = event.points[0].customdata;
          field.form.requestSubmit();
        });
      }
    });
  }
  document.addEventListener("DOMContentLoaded", function () { draw(document); });
  document.addEventListener("htmx:afterSettle", function (event) { draw(event.target.parentNode || document); });
  dark.addEventListener("change", function () { draw(document); });
  document.addEventListener("dragover", function (event) { event.preventDefault(); });
  document.addEventListener("drop", function (event) {
    event.preventDefault();
    const field = document.getElementById("chosen");
    if (field && event.dataTransfer.files.length === 1) { field.files = event.dataTransfer.files; field.form.requestSubmit(); }
  });
})();
