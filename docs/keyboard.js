// What scrolls sideways can be reached by keyboard: tables, which the theme wraps, and output that keeps its columns.
const reachable = () => {
  for (const one of document.querySelectorAll(".md-typeset__scrollwrap, .language-console code, .language-text code"))
    one.tabIndex = 0
}
document$.subscribe(() => {
  reachable()
  new MutationObserver(reachable).observe(document.querySelector(".md-content"), { childList: true, subtree: true })
})
