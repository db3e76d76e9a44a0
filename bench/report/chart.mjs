import { ratio } from './table.mjs'

const width = 760
const left = 170
const right = 60
const bar = 16
const gap = 6

const style = `
  text { font: 12px system-ui, sans-serif; fill: #1f2328; }
  .title { font-weight: 600; font-size: 13px; }
  .value { fill: #59636e; }
  .reader { stroke: #59636e; stroke-dasharray: 3 3; }
  .other { fill: #b6c2cf; }
  .own { fill: #0969da; }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc; }
    .value { fill: #9198a1; }
    .reader { stroke: #9198a1; }
    .other { fill: #3d444d; }
    .own { fill: #4493f8; }
  }`

const escaped = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.codePointAt(0)};`)

/** The measures drawn: those that the peers share, or else all that have a goal against the reader. */
const drawn = (results) => {
  const withRatio = results.filter(({ contenders }) =>
    contenders.some(({ contender, ratio }) => contender !== 'reader' && ratio),
  )
  const shared = withRatio.filter(({ contenders }) => contenders.some(({ contender }) => isPeer(contender)))
  return shared.length > 0 ? shared : withRatio.filter(({ goal }) => goal?.to === 'reader')
}

const isOwn = (contender) => contender.startsWith('statewire')
const isPeer = (contender) => !isOwn(contender) && contender !== 'reader' && contender !== 'floor'

/** Horizontal bars of ratios to the reader, on a logarithmic scale; a dashed line is the reader. */
export const chart = ({ results }) => {
  const groups = drawn(results).map(({ title, contenders }) => ({
    title,
    bars: contenders
      .filter(({ contender, ratio }) => contender !== 'reader' && ratio > 0)
      .sort((a, b) => a.ratio - b.ratio),
  }))
  const largest = Math.max(2, ...groups.flatMap(({ bars }) => bars.map((one) => one.ratio)))
  const x = (value) =>
    left + (Math.log(Math.max(value, 0.5) / 0.5) / Math.log(largest / 0.5)) * (width - left - right)
  let y = 12
  const shapes = groups.map(({ title, bars }) => {
    const top = y + 24
    y = top + bars.length * (bar + gap) + 18
    return [
      `<text class="title" x="12" y="${top - 10}">${escaped(title)}</text>`,
      ...bars.map((one, index) => row(one, top + index * (bar + gap), x)),
      `<line class="reader" x1="${x(1)}" x2="${x(1)}" y1="${top - 4}" y2="${y - 16}"/>`,
    ].join('\n')
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y + 22}" role="img" aria-label="Processor time and memory as multiples of a hand-written reader">
<style>${style}
</style>
${shapes.join('\n')}
<text class="value" x="12" y="${y + 8}">Multiples of a hand-written reader (dashed line), logarithmic; shorter is better.</text>
</svg>
`
}

const row = ({ contender, ratio: value }, y, x) => {
  const kind = isOwn(contender) ? 'own' : 'other'
  const middle = y + bar / 2 + 4
  return [
    `<text x="${left - 8}" y="${middle}" text-anchor="end">${escaped(contender)}</text>`,
    `<rect class="${kind}" x="${left}" y="${y}" width="${(x(value) - left).toFixed(1)}" height="${bar}" rx="2"/>`,
    `<text class="value" x="${(x(value) + 6).toFixed(1)}" y="${middle}">${ratio(value)}</text>`,
  ].join('')
}
