// The pages of the site: the guides of docs/, and a page with a picture for each state of the chart.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { createChart } from '../dist/machines.js'
import { scriptedModel } from '../dist/testing.js'
import { describeMachine, toSvg } from '../dist/visualize.js'

const root = dirname(import.meta.dirname)
const source = 'https://github.com/statewire/statewire/blob/main/'
const links = /(\]\()([^)\s]+)\)/g

/** Writes all pages into a folder, and removes what was in it. */
export const writePages = async (pages) => {
  rmSync(pages, { recursive: true, force: true })
  copyGuides(pages)
  await drawStates(pages)
}

/** The page that a link of a guide means: files that are not pages are shown in the repository. */
const linked = (target, from) => {
  if (/^([a-z]+:|#)/i.test(target) && !target.startsWith(`${source}visualizations`)) return target
  const [path, hash = ''] = target.split('#')
  const file = path.startsWith(source)
    ? path.slice(source.length)
    : relative(root, resolve(root, dirname(from), path))
  if (file.startsWith('docs/')) return target
  if (file.startsWith('visualizations')) return `${relative(dirname(from), 'docs/states')}/index.md`
  return `${source}${file}${hash && `#${hash}`}`
}

const copyGuides = (pages) => {
  cpSync(join(root, 'docs'), pages, { recursive: true })
  for (const name of readdirSync(pages, { recursive: true })) {
    if (!name.endsWith('.md')) continue
    const text = readFileSync(join(pages, name), 'utf8')
    writeFileSync(
      join(pages, name),
      text.replace(links, (_, start, target) => `${start}${linked(target, join('docs', name))})`),
    )
  }
}

const nameOf = (id) => id.replace(/^agent\./, '')

/** The part of the chart around one state, which is highlighted as `active` does in a page. */
const closeUp = (picture, id) => {
  const [, group] = picture.split(`" data-state="${id}"`)
  const [, x, y, width, height] = /x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"/
    .exec(group)
    .map(Number)
  const [w, h] = [Math.max(1100, width + 300), Math.max(700, height + 300)]
  return picture
    .replace(`" data-state="${id}"`, ` active" data-state="${id}"`)
    .replace(
      /viewBox="[^"]+" width="[^"]+" height="[^"]+"/,
      `viewBox="${x + (width - w) / 2} ${y + (height - h) / 2} ${w} ${h}" width="${w}" height="${h}"`,
    )
}

const row = ({ label, guard, targets, actions }) =>
  `| ${label || 'at once'} | ${guard ?? ''} | ${targets.map((id) => `[${nameOf(id)}](${nameOf(id)}.md)`).join(', ') || 'stays'} | ${actions.join(', ')} |`

const statePage = (state, transitions) => {
  const taken = transitions.filter(({ source: id }) => id === state.id)
  const entered = [
    ...new Set(transitions.filter(({ targets }) => targets.includes(state.id)).map(({ source: id }) => id)),
  ]
  const facts = [
    ['tags', state.tags],
    ['children', state.invokes.map(({ label }) => label)],
    ['on entry', state.entry],
    ['on exit', state.exit],
    ['comes from', entered.filter((id) => id !== 'agent').map((id) => `[${nameOf(id)}](${nameOf(id)}.md)`)],
  ].filter(([, values]) => values.length > 0)
  return [
    `# ${nameOf(state.id)}`,
    state.description ?? '',
    facts.map(([name, values]) => `- ${name}: ${values.join(', ')}`).join('\n'),
    ...(taken.length > 0
      ? [`| event | if | goes to | does |\n|---|---|---|---|\n${taken.map(row).join('\n')}`]
      : []),
    `![The chart around ${nameOf(state.id)}](./${nameOf(state.id)}.svg)\n\n[The whole chart](index.md)`,
    '',
  ].join('\n\n')
}

const drawStates = async (pages) => {
  const folder = join(pages, 'states')
  mkdirSync(folder)
  const chart = createChart({ model: scriptedModel([]) })
  const picture = await toSvg(chart)
  const { states, transitions } = describeMachine(chart)
  const own = states.filter(({ parent }) => parent !== null)
  for (const state of own) {
    writeFileSync(join(folder, `${nameOf(state.id)}.svg`), closeUp(picture, state.id))
    writeFileSync(join(folder, `${nameOf(state.id)}.md`), statePage(state, transitions))
  }
  const list = own.map(({ id, description = '' }) => `| [${nameOf(id)}](${nameOf(id)}.md) | ${description} |`)
  writeFileSync(join(folder, 'agent.svg'), picture)
  writeFileSync(
    join(folder, 'index.md'),
    `# States of a run\n\n| | |\n|---|---|\n${list.join('\n')}\n\n![The chart of a run](./agent.svg)\n`,
  )
}
