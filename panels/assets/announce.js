/* A quiet region for screen readers: says that an answer is complete, not each word of it. */
export default function ({ data }) {
  const [words] = data ?? [""]
  let region = document.getElementById("halo-announce")
  if (!region) {
    region = document.createElement("div")
    region.id = "halo-announce"
    region.setAttribute("role", "status")
    region.style.cssText = "position:fixed;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)"
    document.body.append(region)
  }
  if (!words) region.dataset.waiting = "yes"
  const due = words && region.dataset.waiting
  region.textContent = due ? words : region.dataset.waiting ? "" : region.textContent
  if (due) delete region.dataset.waiting
}
