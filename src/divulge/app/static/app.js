"use strict";
/* Draws the figures that pages carry as data, passes dropped files to the form, and follows clicks on points.
   Runs before the page is read, so that no form is there that it does not hear. */
(function () {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  function draw(root) {
    if (!window.Plotly) { return; }  /* which draws all of the page once it has come */
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
  /* What was typed is there again after a message that it cannot be: kept in this tab until the next page that opens. */
  const typed = "typed";
  let kept = null;
  function keep(event) {
    const fields = Array.from(event.target.elements).filter(function (field) { return field.name && field.type !== "file" && field.type !== "hidden"; });
    sessionStorage.setItem(typed, JSON.stringify({ action: event.target.getAttribute("action"), fields: fields.map(function (field) { return [field.name, field.value, field.checked === true]; }) }));
  }
  function restore() {
    if ("failed" in document.currentScript.dataset) { sessionStorage.setItem("failed", "1"); return; }
    const back = performance.getEntriesByType("navigation").some(function (one) { return one.type === "back_forward"; });
    const failed = back || sessionStorage.getItem("failed");  /* who goes back at once leaves before the message's page has said so */
    kept = failed ? JSON.parse(sessionStorage.getItem(typed) || "null") : null;
    sessionStorage.removeItem("failed");
    sessionStorage.removeItem(typed);
  }
  function fill() {
    if (!kept) { return; }
    document.querySelectorAll("form").forEach(function (form) {
      if (form.getAttribute("action") !== kept.action) { return; }
      const left = kept.fields.slice();
      kept.done = true;
      Array.from(form.elements).forEach(function (field) {
        const box = field.type === "checkbox" || field.type === "radio";
        const at = left.findIndex(function (one) { return one[0] === field.name && (!box || one[1] === field.value); });
        if (at < 0 || field.type === "hidden" || field.type === "file") { return; }
        const one = left.splice(at, 1)[0];
        if (box) { field.checked = one[2]; } else { field.value = one[1]; }
        const fold = field.closest("details");
        if (fold) { fold.open = true; }
      });
    });
    if (kept.done) { kept = null; }
  }
  document.addEventListener("submit", keep);
  restore();
  document.addEventListener("readystatechange", function () { if (document.readyState === "interactive") { fill(); } });
  window.addEventListener("load", function () { draw(document); });
  document.addEventListener("htmx:afterSettle", function (event) { draw(event.target.parentNode || document); fill(); });
  dark.addEventListener("change", function () { draw(document); });
  document.addEventListener("dragover", function (event) { event.preventDefault(); });
  document.addEventListener("drop", function (event) {
    event.preventDefault();
    const field = document.getElementById("chosen");
    if (field && event.dataTransfer.files.length === 1) { field.files = event.dataTransfer.files; field.form.requestSubmit(); }
  });
})();
