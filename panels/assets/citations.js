/* One listener for every citation on the page: a[href^="#cite-"].
   Hover or focus shows the card, a click opens the source. The card is drawn once, in the body,
   and filled by textContent only. */
const SELECTOR = 'a[href^="#cite-"]'
const CLAIM = 'a[href^="#claim-"]'
const SHOW_AFTER = 150
const HIDE_AFTER = 120
const GAP = 8
const LEAD = 26

function make(tag, name, parent) {
  const node = document.createElement(tag)
  if (name) node.className = name
  parent?.append(node)
  return node
}

function build() {
  document.getElementById("halo-card")?.remove()
  const card = make("div", "", document.body)
  card.id = "halo-card"
  card.setAttribute("role", "tooltip")
  card.hidden = true
  const head = make("div", "hd", card)
  make("span", "ic", head)
  const names = make("div", "names", head)
  make("b", "name", names)
  make("span", "place", names)
  make("blockquote", "", card)
  const foot = make("div", "ft", card)
  make("span", "ic state", foot)
  make("b", "support", foot)
  make("span", "note", foot)
  make("button", "open", foot).type = "button"
  return card
}

/* The quote with the numbers of the claim marked, as text nodes. */
function quote(node, data) {
  node.textContent = ""
  node.append(data.open ?? "“")
  for (const [text, marked] of data.quote) {
    if (marked) make("mark", "", node).textContent = text
    else node.append(text)
  }
  node.append(data.close ?? "”")
}

/* The quote in the link's title stays for screen readers, without the browser's own tooltip. */
function quiet(link) {
  if (!link.title) return
  link.setAttribute("aria-description", link.title)
  link.removeAttribute("title")
}

function fill(card, data) {
  const put = (selector, text) => {
    card.querySelector(selector).textContent = text ?? ""
  }
  put(".hd .ic", data.icon)
  put(".name", data.name)
  put(".place", data.place)
  put(".state", data.stateIcon)
  put(".support", data.support)
  put(".note", data.note)
  put(".open", data.action)
  card.dataset.state = data.state
  quote(card.querySelector("blockquote"), data)
}

/* A long quote shows the cited sentence first, and that there is more below. */
function begin(box) {
  const mark = box.querySelector("mark")
  box.scrollTop = mark ? mark.offsetTop - LEAD : 0
  const more = () => {
    const rest = box.scrollHeight - box.clientHeight - box.scrollTop
    box.toggleAttribute("data-more", rest > 1)
  }
  box.onscroll = more
  more()
}

function place(card, link) {
  const at = [...link.getClientRects()].at(-1)
  card.hidden = false
  const { offsetWidth: width, offsetHeight: height } = card
  const below = at.bottom + GAP
  const top = below + height > innerHeight - GAP ? Math.max(GAP, at.top - GAP - height) : below
  const left = Math.max(GAP, Math.min(at.left - 96, innerWidth - width - 16))
  card.style.top = `${top}px`
  card.style.left = `${left}px`
}

export default function ({ data, setTriggerValue }) {
  window.haloCitations?.stop()
  const cards = data?.[0] ?? {}
  const stopped = new AbortController()
  const card = build()
  let timer = 0
  let shown = null

  const keyOf = (link) => link.getAttribute("href").replace(/^#cite-(?:[upx]-)?/, "")
  const find = (event) => event.target.closest?.(SELECTOR)
  const hide = () => {
    clearTimeout(timer)
    card.hidden = true
    shown?.removeAttribute("aria-describedby")
    shown = null
  }
  const show = (link) => {
    const known = cards[keyOf(link)]
    if (!known || !link.isConnected) return
    quiet(link)
    fill(card, known)
    place(card, link)
    begin(card.querySelector("blockquote"))
    shown = link
    link.setAttribute("aria-describedby", "halo-card")
  }
  const later = (action, delay) => {
    clearTimeout(timer)
    timer = setTimeout(action, delay)
  }
  const open = (link) => {
    const key = keyOf(link)
    hide()
    setTriggerValue("open", key)
  }
  const on = (type, handler, target = document) =>
    target.addEventListener(type, handler, { capture: true, signal: stopped.signal })

  on("click", (event) => {
    const link = find(event)
    if (!link && !event.target.closest?.(CLAIM)) return
    event.preventDefault()
    event.stopPropagation()
    if (link) open(link)
  })
  on("pointerover", (event) => {
    const link = find(event)
    if (link) quiet(link)
    if (link && event.pointerType !== "touch") later(() => show(link), SHOW_AFTER)
    else if (card.contains(event.target)) clearTimeout(timer)
    else if (!card.hidden || timer) later(hide, HIDE_AFTER)
  })
  on("focusin", (event) => {
    const link = find(event)
    if (link?.matches(":focus-visible")) show(link)
    else if (!card.contains(event.target)) hide()
  })
  on("keydown", (event) => event.key === "Escape" && hide())
  on("scroll", (event) => !card.contains(event.target) && hide())
  on("click", () => shown && open(shown), card.querySelector(".open"))

  const stop = () => {
    stopped.abort()
    hide()
    card.remove()
  }
  window.haloCitations = { stop }

  /* A click from before this listener was there: the browser followed the link itself. */
  const followed = location.hash
  if (followed.startsWith("#cite-")) {
    history.replaceState(history.state, "", location.pathname + location.search)
    const early = [...document.querySelectorAll(SELECTOR)]
    const link = early.find((link) => link.getAttribute("href") === followed)
    if (link) open(link)
  }
  return stop
}
