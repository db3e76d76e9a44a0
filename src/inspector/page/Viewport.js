// @ts-check

/** @typedef {Record<'fit' | 'follow' | 'larger' | 'smaller', HTMLButtonElement>} Buttons */

/** Limits of the scale that is chosen automatically: a smaller chart could not be read. */
const largest = 1.15
const readable = 0.6
const margin = 24
/** Room for the buttons below the chart. */
const footer = 60

const clamp = (/** @type {number} */ value, /** @type {number} */ low, /** @type {number} */ high) =>
  Math.min(Math.max(value, low), high)

/**
 * The visible part of the chart. It shows everything, or the active state if there is no room for everything. After a person
 * drags or zooms, it stays as it is until `Fit` or `Follow` is pressed.
 */
export class Viewport {
  /** @type {SVGSVGElement | null} */
  #svg = null
  /** @type {'follow' | 'fit' | 'free'} */
  #mode = 'follow'
  #x = 0
  #y = 0
  #scale = 1
  /** @type {Element | null} */
  #active = null
  #host
  #buttons

  /** @param {HTMLElement} host @param {Buttons | null} [buttons] */
  constructor(host, buttons = null) {
    this.#host = host
    this.#buttons = buttons
    new ResizeObserver(() => this.#arrange(false)).observe(host)
    buttons?.fit.addEventListener('click', () => this.#choose('fit'))
    buttons?.follow.addEventListener('click', () => this.#choose('follow'))
    buttons?.larger.addEventListener('click', () => this.#zoom(1.25))
    buttons?.smaller.addEventListener('click', () => this.#zoom(0.8))
    host.addEventListener('wheel', (event) => this.#wheel(event), { passive: false })
    host.addEventListener('pointerdown', (event) => this.#drag(event))
    this.#mark()
  }

  /** @param {SVGSVGElement | null} svg */
  show(svg) {
    this.#svg = svg
    this.#active = null
    this.#arrange(false)
  }

  /** @param {Element | null} active */
  follow(active) {
    if (active === this.#active) return
    const isFirst = this.#active === null
    this.#active = active
    this.#arrange(!isFirst)
  }

  get #footer() {
    return this.#buttons ? footer : margin
  }

  /** @param {'follow' | 'fit' | 'free'} mode */
  #choose(mode) {
    this.#mode = mode
    this.#mark()
    this.#arrange(true)
  }

  #mark() {
    this.#buttons?.fit.setAttribute('aria-pressed', String(this.#mode === 'fit'))
    this.#buttons?.follow.setAttribute('aria-pressed', String(this.#mode === 'follow'))
  }

  /** @param {boolean} isSmooth */
  #arrange(isSmooth) {
    const svg = this.#svg
    if (!svg) return
    svg.classList.toggle('smooth', isSmooth)
    if (this.#mode !== 'free') {
      const { width, height } = svg.viewBox.baseVal
      const room = {
        width: this.#host.clientWidth - 2 * margin,
        height: this.#host.clientHeight - margin - this.#footer,
      }
      const fit = Math.min(room.width / width, room.height / height, largest)
      this.#scale = this.#mode === 'fit' ? fit : Math.max(fit, readable)
      const box = this.#active?.querySelector('rect')?.getBBox() ?? { x: 0, y: 0, width: 0, height }
      this.#x = place(this.#host.clientWidth, width * this.#scale, (box.x + box.width / 2) * this.#scale)
      this.#y = place(
        this.#host.clientHeight - (this.#footer - margin),
        height * this.#scale,
        (box.y + box.height / 2) * this.#scale,
      )
    }
    svg.style.transform = `translate(${this.#x}px, ${this.#y}px) scale(${this.#scale})`
  }

  /** @param {number} factor @param {number} [x] @param {number} [y] */
  #zoom(factor, x = this.#host.clientWidth / 2, y = this.#host.clientHeight / 2) {
    const scale = clamp(this.#scale * factor, 0.15, 4)
    this.#x = x - ((x - this.#x) * scale) / this.#scale
    this.#y = y - ((y - this.#y) * scale) / this.#scale
    this.#scale = scale
    this.#choose('free')
  }

  /** @param {WheelEvent} event */
  #wheel(event) {
    if (!this.#svg) return
    event.preventDefault()
    if (event.ctrlKey || event.metaKey) {
      const { left, top } = this.#host.getBoundingClientRect()
      this.#zoom(Math.exp(-event.deltaY / 200), event.clientX - left, event.clientY - top)
      return
    }
    this.#x -= event.deltaX
    this.#y -= event.deltaY
    this.#free()
  }

  /** @param {PointerEvent} start */
  #drag(start) {
    if (start.button !== 0 || !this.#svg) return
    const [x, y] = [this.#x - start.clientX, this.#y - start.clientY]
    const move = (/** @type {PointerEvent} */ event) => {
      this.#x = x + event.clientX
      this.#y = y + event.clientY
      this.#free()
    }
    this.#host.setPointerCapture(start.pointerId)
    this.#host.addEventListener('pointermove', move)
    this.#host.addEventListener('pointerup', () => this.#host.removeEventListener('pointermove', move), {
      once: true,
    })
  }

  #free() {
    this.#mode = 'free'
    this.#mark()
    this.#arrange(false)
  }
}

/** The start of the picture along one axis: centred if it fits, otherwise with the point in the middle. */
const place = (/** @type {number} */ room, /** @type {number} */ size, /** @type {number} */ point) =>
  size + 2 * margin <= room + 1 ? (room - size) / 2 : clamp(room / 2 - point, room - size - margin, margin)
