import { type AnyStateMachine, type AnyStateNode, createMachine } from 'xstate'
import type { PendingCall } from '../../src/messages/result.ts'
import type { ChatModel } from '../../src/model/chatModel.ts'
import { type Tool, tool } from '../../src/tools/tool.ts'
import type { AgentMachineConfig } from './agentConfig.ts'
import { createChart } from './chart.ts'

/** Facts about one state of the lifecycle chart, computed from the chart itself: nothing else lists its states. */
export type StateFacts = {
  /** A run can rest in this state, and so be stored; false for a state that is left at once. */
  isStorable: boolean
  isFinal: boolean
  /** The run does nothing until a person or a moment lets it continue: the state has the tag `waiting`. */
  isWaiting: boolean
  /**
   * The kind of decision that the run itself waits for, or its tasks; undefined if it works, or if only its sub-agents
   * wait.
   */
  waitsFor: PendingCall['kind'] | 'tasks' | undefined
  /** A round of tool calls is open: the conversation then ends with the calls. */
  isInRound: boolean
  /** The conversation ends with an answer that the policy decides on. */
  isAnswered: boolean
  /** Calls may wait for an approval, but people are not asked yet. */
  isUndecided: boolean
  /** The policy holds the run. */
  isHeld: boolean
  /** The children that run in it with every configuration, and those that only some configurations have. */
  children: { always: readonly string[]; sometimes: readonly string[] }
}

/** The state as the API names it: the outermost one, such as `ToolExecution`. */
export const stateName = (value: unknown): string => statePath(value).split(/[.,]/, 1)[0] ?? ''

/** The state as people read it: `ToolExecution.Working`; parallel states are separated by commas. */
export const statePath = (value: unknown): string => statePaths(value).join(', ')

/** The path of each active innermost state. */
const statePaths = (value: unknown): string[] => {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => {
    const paths = statePaths(inner)
    return paths.length === 0 ? [name] : paths.map((path) => `${name}.${path}`)
  })
}

/** Facts about the state that a run of the lifecycle chart is in; undefined for a state of another chart. */
export const factsOf = (value: unknown, states = agentStates()): StateFacts | undefined => {
  const path = statePath(value)
  // A stored value may be anything: only the chart's own form of it is a state.
  const [innermost, ...around] = path.split('.').toReversed()
  const own = around.reduce<unknown>((inner, name) => ({ [name]: inner }), innermost)
  return JSON.stringify(own) === JSON.stringify(value) ? states.get(path) : undefined
}

/** All innermost states of the lifecycle chart, by path. */
export const agentStates = (): ReadonlyMap<string, StateFacts> => {
  facts ??= factsIn(createChart)
  return facts
}

let facts: ReadonlyMap<string, StateFacts> | undefined

/** Computes the facts. Some children are only there with an option: charts without options and with all show which. */
export const factsIn = (
  chartWith: (config: AgentMachineConfig) => AnyStateMachine,
): Map<string, StateFacts> => {
  const plain = childrenByPath(chartWith({ model }))
  const full = chartWith({
    model,
    onApproval: () => false,
    timeouts: { totalMs: 1 },
    policy: { machine: createMachine({}), others: 'allow' },
    tools: [worker],
  })
  return new Map(
    leavesOf(full.root).map((leaf): [string, StateFacts] => {
      const always = plain.get(pathOf(leaf)) ?? []
      const all = childrenOf(leaf)
      const { waitsFor, isInRound, isAnswered, isUndecided, isHeld, spawned = [] } = metaOf(leaf)
      return [
        pathOf(leaf),
        {
          isStorable: leaf.type !== 'final' && !isTransient(leaf),
          isFinal: leaf.type === 'final',
          isWaiting: lineOf(leaf).some(({ tags }) => tags.includes('waiting')),
          waitsFor,
          isInRound: isInRound ?? false,
          isAnswered: isAnswered ?? false,
          isUndecided: isUndecided ?? false,
          isHeld: isHeld ?? false,
          children: { always, sometimes: [...all.filter((id) => !always.includes(id)), ...spawned] },
        },
      ]
    }),
  )
}

/** A model that is never asked: the chart is only looked at. */
const model: ChatModel = {
  provider: 'none',
  model: 'none',
  profile: {
    tools: true,
    parallelTools: true,
    nativeSchema: true,
    schemaWithTools: true,
    thinking: true,
    attachments: { images: false, pdf: false, audio: false, links: false },
  },
  stream: () => () => {},
}

/** A background agent that never works. */
const worker: Tool = {
  ...tool({ name: 'none', description: '' }),
  background: {
    promptOf: () => '',
    run: () => {
      throw new TypeError('The chart is only looked at.')
    },
    detached: false,
    maxTasks: 1,
  },
}

type Meta = Partial<Pick<StateFacts, 'isInRound' | 'isAnswered' | 'isUndecided' | 'isHeld'>> & {
  waitsFor?: PendingCall['kind'] | 'tasks'
  stopped?: readonly string[]
  spawned?: readonly string[]
}

const metaOf = (node: AnyStateNode): Meta => Object.assign({}, ...lineOf(node).map(({ meta }) => meta))

/** A state with the states around it, the outermost first. */
const lineOf = (node: AnyStateNode): AnyStateNode[] => [...(node.parent ? lineOf(node.parent) : []), node]

const leavesOf = (node: AnyStateNode): AnyStateNode[] => {
  const inner = Object.values(node.states)
  return inner.length === 0 ? [node] : inner.flatMap(leavesOf)
}

const pathOf = ({ path }: AnyStateNode): string => path.join('.')

/** A transition without event and guard is taken before anything else can happen. */
const isTransient = (leaf: AnyStateNode): boolean =>
  lineOf(leaf).some(({ always }) => always?.some(({ guard }) => guard === undefined))

const childrenOf = (leaf: AnyStateNode): string[] =>
  lineOf(leaf)
    .flatMap(({ invoke }) => invoke.map(({ id }) => id))
    .filter((id) => !metaOf(leaf).stopped?.includes(id))

const childrenByPath = ({ root }: AnyStateMachine): Map<string, string[]> =>
  new Map(leavesOf(root).map((leaf) => [pathOf(leaf), childrenOf(leaf)]))
