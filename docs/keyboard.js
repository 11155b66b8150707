// What scrolls sideways can be reached by keyboard: tables, which the theme wraps, and output that keeps its columns.
const reachable = () => {
  for (const one of document.querySelectorAll(".md-typeset__scrollwrap, .language-console code, .language-text code"))
    one.tabIndex = 0
}

// The button beside a session copies what is typed there: no prompts, and nothing that was printed.
const typed = text => {
  const found = []
  let more = false
  for (const line of text.split("\n")) {
    if (/^(>>>|\$) /.test(line)) found.push(line.replace(/^(>>>|\$) /, ""))
    else if (more === "shell") found.push(line)
    else if (more === "python" && /^\.\.\.( |$)/.test(line)) found.push(line.slice(4))
    else { more = false; continue }
    more = /^\$ /.test(line) || more === "shell" ? (line.endsWith("\\") ? "shell" : false) : "python"
  }
  return found.join("\n")
}
const copied = () => {
  for (const code of document.querySelectorAll(".md-typeset .highlight")) {
    const text = code.querySelector("code")?.innerText ?? ""
    if (/^(>>>|\$) /.test(text)) code.setAttribute("data-copy", typed(text))
  }
}
document$.subscribe(() => {
  reachable()
  copied()
  new MutationObserver(reachable).observe(document.querySelector(".md-content"), { childList: true, subtree: true })
})
