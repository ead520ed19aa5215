/* Copies what a container shows, once for each new token: as rich and as plain text.
   Citation chips become [n]; lines naming the sources follow below. */
function plainChips(node) {
  for (const chip of node.querySelectorAll('a[href^="#cite-"]')) {
    chip.replaceWith(` [${chip.textContent.match(/\d+/)?.[0] ?? ""}]`)
  }
  for (const claim of node.querySelectorAll('a[href^="#claim-"]')) {
    claim.replaceWith(...claim.childNodes)
  }
  for (const extra of node.querySelectorAll("button, style, [aria-hidden=true]")) extra.remove()
  for (const any of node.querySelectorAll("*")) {
    for (const { name } of [...any.attributes]) if (name !== "href") any.removeAttribute(name)
  }
}

function written(source, lines) {
  const copy = source.cloneNode(true)
  plainChips(copy)
  const sources = document.createElement("div")
  for (const line of lines) {
    const p = document.createElement("p")
    p.textContent = line
    sources.append(p)
  }
  copy.append(sources)
  copy.style.cssText = "position:fixed;left:-9999px;top:0;width:700px;white-space:normal"
  document.body.append(copy)
  const tidy = (text) => text.replaceAll("\u2060", "").replace(/\n{3,}/g, "\n\n").trim()
  const made = { html: copy.innerHTML.replaceAll("\u2060", ""), text: tidy(copy.innerText) }
  copy.remove()
  return made
}

async function put({ html, text }) {
  const blob = (type, content) => new Blob([content], { type })
  try {
    await navigator.clipboard.write([
      new ClipboardItem({
        "text/html": blob("text/html", html),
        "text/plain": blob("text/plain", text),
      }),
    ])
  } catch {
    await navigator.clipboard.writeText(text)
  }
}

export default function ({ data, setTriggerValue }) {
  const [key, lines, token] = data ?? []
  if (!key || window.haloCopied === token) return
  window.haloCopied = token
  const source = document.querySelector(`.st-key-${key} [data-testid=stMarkdownContainer]`)
  if (!source) return setTriggerValue("done", "failed")
  put(written(source, lines)).then(
    () => setTriggerValue("done", "copied"),
    () => setTriggerValue("done", "failed"),
  )
}
