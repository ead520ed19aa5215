/* Does one thing once for each new token: scrolls an element into view, or clicks it, or
   puts the cursor into it with its text selected. */
const WAIT = 100
const TRIES = 30

export default function ({ data }) {
  const [action, selector, token] = data ?? []
  const key = `${action} ${selector}`
  const done = (window.haloOnce ??= {})
  if (done[key] === token) return
  done[key] = token
  let tries = 0
  const act = () => {
    const target = document.querySelector(selector)
    if (!target && ++tries < TRIES) return setTimeout(act, WAIT)
    if (action === "click") target?.click()
    else if (action === "select") target?.select()
    else target?.scrollIntoView({ block: "center", inline: "nearest" })
  }
  act()
}
