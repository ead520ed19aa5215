/* Tells the page which files its uploader did not take in; the uploader itself is invisible. */
const CHIP = ".st-key-drop [data-testid=stFileChip]"
const UNITS = { B: 1, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 }
const SETTLE = 100

function told(chip) {
  const name = chip.querySelector("[data-testid=stFileChipName]")?.title ?? ""
  const [, digits, unit] = /([\d.]+)\s*([KMGT]?B)$/i.exec(chip.getAttribute("aria-label") ?? "") ?? []
  const size = digits ? Math.round(Number(digits) * UNITS[unit.toUpperCase()]) : 0
  const large = /must be/.test(chip.querySelector("[role=alert]")?.textContent ?? "")
  return { name, size, large }
}

export default function ({ setTriggerValue }) {
  const seen = (window.haloRefused ??= new WeakSet())
  let timer = 0
  const look = () => {
    const chips = [...document.querySelectorAll(CHIP)]
    const refused = chips.filter((chip) => chip.getAttribute("aria-invalid") === "true")
    const fresh = refused.filter((chip) => !seen.has(chip))
    if (!fresh.length) return
    for (const chip of fresh) seen.add(chip)
    const all = refused.length === chips.length
    setTriggerValue("files", { all, rows: fresh.map(told) })
  }
  const observer = new MutationObserver(() => {
    clearTimeout(timer)
    timer = setTimeout(look, SETTLE)
  })
  observer.observe(document.body, {
    childList: true,
    subtree: true,
    attributes: true,
    attributeFilter: ["aria-invalid"],
  })
  return () => {
    clearTimeout(timer)
    observer.disconnect()
  }
}
