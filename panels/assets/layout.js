/* Says how many panels fit: one on a phone, two in a narrow window, three otherwise.
   A name that its place cuts short can be read whole: pointing at it makes it a title. */
const WIDTHS = [
  ["phone", "(max-width: 640px)"],
  ["narrow", "(max-width: 1100px)"],
]

export default function ({ setStateValue }) {
  const now = () => WIDTHS.find(([, query]) => matchMedia(query).matches)?.[0] ?? "desk"
  const tell = () => {
    const layout = now()
    if (layout === (window.haloLayout ?? "desk")) return
    window.haloLayout = layout
    setStateValue("layout", layout)
  }
  window.haloLayoutStop?.()
  const stopped = new AbortController()
  for (const [, query] of WIDTHS) {
    matchMedia(query).addEventListener("change", tell, { signal: stopped.signal })
  }
  const whole = ({ target }) => {
    const name = target.closest?.("button, [role=menuitem]")?.querySelector("p")
    if (name) name.title = name.scrollWidth > name.clientWidth ? name.textContent : ""
  }
  document.addEventListener("pointerover", whole, { signal: stopped.signal })
  window.haloLayoutStop = () => stopped.abort()
  tell()
  return () => {
    stopped.abort()
    window.haloLayout = undefined
  }
}
