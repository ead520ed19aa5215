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

/* A chip is noted as soon as it is drawn, for an upload that arrives takes all chips away; what was
   noted is told in one go, also by the next mount. */
export default function ({ setTriggerValue }) {
  const { seen, noted } = (window.haloRefused ??= { seen: new WeakSet(), noted: [] })
  let timer = 0
  const tell = () => noted.length && setTriggerValue("files", noted.splice(0))
  const look = () => {
    for (const chip of document.querySelectorAll(CHIP)) {
      if (chip.getAttribute("aria-invalid") !== "true" || seen.has(chip)) continue
      seen.add(chip)
      noted.push(told(chip))
    }
    clearTimeout(timer)
    timer = setTimeout(tell, SETTLE)
  }
  const observer = new MutationObserver(look)
  observer.observe(document.body, {
    childList: true,
    subtree: true,
    attributes: true,
    attributeFilter: ["aria-invalid"],
  })
  look()
  return () => {
    clearTimeout(timer)
    observer.disconnect()
  }
}
