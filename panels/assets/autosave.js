/* Commits a field a moment after the last key, as leaving the field would. */
const IDLE = 1200

export default function ({ data }) {
  const [selector] = data ?? []
  window.haloAutosave?.abort()
  const stopped = (window.haloAutosave = new AbortController())
  let timer = 0
  document.addEventListener(
    "input",
    (event) => {
      const field = event.target
      if (!field.matches?.("textarea, input") || !field.closest(selector)) return
      clearTimeout(timer)
      timer = setTimeout(() => {
        const press = { key: "Enter", ctrlKey: field.matches("textarea"), bubbles: true }
        field.dispatchEvent(new KeyboardEvent("keydown", press))
      }, IDLE)
    },
    { capture: true, signal: stopped.signal },
  )
  return () => {
    clearTimeout(timer)
    stopped.abort()
  }
}
