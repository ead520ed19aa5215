/* A click on a time of a transcript plays the recording from there: a[href^="#at-"], in seconds.
   One listener for the page; the player is the one in the opened source. */
const SELECTOR = 'a[href^="#at-"]'

export default function () {
  window.haloTimes?.abort()
  const stopped = new AbortController()
  window.haloTimes = stopped
  document.addEventListener(
    "click",
    (event) => {
      const link = event.target.closest?.(SELECTOR)
      if (!link) return
      event.preventDefault()
      event.stopPropagation()
      const player = document.querySelector(".st-key-player audio, .st-key-player video")
      if (!player) return
      player.currentTime = Number(link.getAttribute("href").slice(4))
      player.play().catch(() => {})
    },
    { capture: true, signal: stopped.signal },
  )
  return () => stopped.abort()
}
