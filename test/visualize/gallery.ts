import type { AnyStateMachine } from 'xstate'
import { type ChartDescription, describeMachine, toMermaid, toSvg } from '../../src/visualize/index.ts'
import { agents } from '../machines/agentPaths.ts'
import { decision } from '../machines/decisionPaths.ts'
import { reasoning } from '../machines/reasoningPaths.ts'
import { reflection } from '../machines/reflectionPaths.ts'
import { typedOutputs } from '../machines/typedOutputPaths.ts'
import { coveragePage } from './coveragePage.ts'

export type Picture = { machine: AnyStateMachine; about: string }

/** Number of times that each transition was taken: by the id of the chart, then by the name of the transition. */
export type CountsOfCharts = ReadonlyMap<string, ReadonlyMap<string, number>>

const [agent] = agents
const [typedOutput] = typedOutputs
if (!agent || !typedOutput) throw new Error('A chart is missing.')

/** Every chart of the library. The variants that the path tests build of one machine all have the same chart. */
export const gallery: readonly Picture[] = [
  {
    machine: agent.chart,
    about: 'One run of an agent: ask the model, run the tools it calls, until it has answered.',
  },
  { machine: typedOutput.chart, about: 'An answer that fits a schema: checked, and asked for again once.' },
  { machine: reasoning.chart, about: 'Four phases: analysis, hypothesis, evidence, synthesis.' },
  { machine: reflection.chart, about: 'Draft, critique and revision, until the critique is content.' },
  { machine: decision.chart, about: 'A model chooses the next event of the machine that invoked it.' },
]

/** All files of `visualizations/`, by name. */
export const galleryFiles = async (counts: CountsOfCharts): Promise<Map<string, string>> => {
  const files = new Map<string, string>()
  for (const { machine } of gallery) {
    files.set(`${machine.id}.svg`, await toSvg(machine))
    files.set(`${machine.id}.mmd`, toMermaid(machine))
  }
  files.set('README.md', index(counts))
  files.set('coverage.html', await coveragePage(gallery, counts))
  return files
}

const index = (counts: CountsOfCharts): string =>
  [
    '# The charts of statewire',
    '',
    'Drawn from the machines themselves by `npm run visualize`; a test fails when a picture is older than its machine.',
    'Each has its Mermaid text beside it. [`coverage.html`](coverage.html) shows how often the path tests take each',
    'transition. A dashed pill means any state around it; the lines below a name are events that are handled without',
    'leaving the state.',
    ...gallery.flatMap(({ machine, about }) => [
      '',
      `## ${machine.id}`,
      '',
      `${about} ${sizeOf(describeMachine(machine), counts)} ([Mermaid](${machine.id}.mmd))`,
      '',
      `![Statechart of ${machine.id}](${machine.id}.svg)`,
    ]),
    '',
  ].join('\n')

const sizeOf = ({ id, states, transitions }: ChartDescription, counts: CountsOfCharts): string => {
  const taken = transitions.filter(({ name }) => (counts.get(id)?.get(name) ?? 0) > 0)
  return `${states.length - 1} states; ${taken.length} of ${transitions.length} transitions taken by the path tests.`
}
