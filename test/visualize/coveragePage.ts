import { describeMachine, toSvg } from '../../src/visualize/index.ts'
import type { CountsOfCharts, Picture } from './gallery.ts'

/** A page with every chart, each transition coloured by how often it was taken. */
export const coveragePage = async (pictures: readonly Picture[], counts: CountsOfCharts): Promise<string> => {
  const sections: string[] = []
  const rows: string[] = []
  for (const { machine, about } of pictures) {
    const { id, transitions } = describeMachine(machine)
    const own = counts.get(id) ?? new Map<string, number>()
    const taken = transitions.map(({ name }) => own.get(name) ?? 0)
    const never = taken.filter((count) => count === 0).length
    rows.push(
      `<tr><td><a href="#${id}">${id}</a></td><td>${taken.length}</td><td>${taken.length - never}</td><td${never > 0 ? ' class="never"' : ''}>${never}</td><td>${sum(taken)}</td></tr>`,
    )
    const svg = await toSvg(machine, { counts: own, idPrefix: `${id}-`, title: `Transitions of ${id}` })
    sections.push(`<section id="${id}"><h2>${id}</h2><p>${about}</p>\n${svg}</section>`)
  }
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>How often the path tests take each transition</title>
<style>${style}</style>
</head>
<body>
<h1>How often the path tests take each transition</h1>
<p>Every path through the graph of each chart is walked with a real actor. The number at a transition says how often it was taken on all of them together.</p>
<table>
<thead><tr><th>Chart</th><th>Transitions</th><th>Taken</th><th>Never</th><th>Times in all</th></tr></thead>
<tbody>
${rows.join('\n')}
</tbody>
</table>
${legend}
${sections.join('\n')}
</body>
</html>
`
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)

const levels = ['never', '1 to 9', '10 to 99', '100 to 999', '1000 and more']

const legend = `<p class="legend">${levels
  .map(
    (text, level) =>
      `<span><svg class="statechart" width="32" height="10" aria-hidden="true"><g class="edge taken-${level}"><path class="route" d="M0 5H32"/></g></svg> ${text}</span>`,
  )
  .join('\n')}</p>`

const style = `
:root{color-scheme:light dark}
body{font:15px/1.5 -apple-system,BlinkMacSystemFont,"Segoe UI",Roboto,"Helvetica Neue","Noto Sans","Liberation Sans",Arial,sans-serif;max-width:1100px;margin:2rem auto;padding:0 1rem;background:#fff;color:#1f2328}
h2{margin-top:3rem}
table{border-collapse:collapse}
th,td{text-align:right;padding:.25rem 1rem;border-bottom:1px solid #d1d9e0}
th:first-child,td:first-child{text-align:left;padding-left:0}
a{color:#0969da}
.never{color:#d1242f;font-weight:600}
.legend{display:flex;flex-wrap:wrap;gap:.5rem 1.5rem}
section svg{max-width:100%;height:auto}
@media (prefers-color-scheme:dark){body{background:#0d1117;color:#f0f6fc}th,td{border-color:#3d444d}a{color:#4493f8}}
`
