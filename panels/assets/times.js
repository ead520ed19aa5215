/* A click on a time of a transcript plays the recording from there: a[href^="#at-"], in seconds.
   What the browser cannot play is told by the player's data-trouble: "picture" or "all".
   One listener each for the page; the player is the one in the opened source. */
const SELECTOR = 'a[href^="#at-"]'
const PLAYER = ".st-key-player audio, .st-key-player video"

function judge(player) {
  const box = player?.closest(".st-key-player")
  if (!box) return
  if (player.error) box.dataset.trouble = "all"
  else if (player.readyState && player.videoWidth === 0) box.dataset.trouble = "picture"
  else delete box.dataset.trouble
}

export default function () {
  window.haloTimes?.abort()
  const stopped = new AbortController()
  window.haloTimes = stopped
  const listening = { capture: true, signal: stopped.signal }
  document.addEventListener(
    "click",
    (event) => {
      const link = event.target.closest?.(SELECTOR)
      if (!link) return
      event.preventDefault()
      event.stopPropagation()
      const player = document.querySelector(PLAYER)
      if (!player) return
      player.currentTime = Number(link.getAttribute("href").slice(4))
      player.play().catch(() => {})
    },
    listening,
  )
  for (const news of ["loadedmetadata", "error"]) {
    const heard = (event) => event.target.matches?.(PLAYER) && judge(event.target)
    document.addEventListener(news, heard, listening)
  }
  judge(document.querySelector(PLAYER))
  return () => stopped.abort()
}
