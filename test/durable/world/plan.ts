import type { Dice } from '../../proof/dice.ts'

/** The agents of the world, by the names that `openRuns` knows them under. */
export type AgentName = 'sequential' | 'parallel' | 'reasoning' | 'reflection' | 'fallback'

/** The tools of an agent: see `worldAgents.ts`. */
export type ToolName = 'note' | 'again' | 'settle' | 'check' | 'delegate'

/** The failure of the first request of a turn: before any text, or in the middle of it. */
export type Failure = 'refused' | 'cut'

/**
 * The plan of one run. It is in the prompt, so that the model, which remembers nothing, can read it from every
 * request.
 */
export type RunPlan = {
  id: string
  agent: AgentName
  /** The calls of each tool round. */
  rounds: ToolName[][]
  /** Words in each answer. */
  words: number
  /** Failures by the number of the turn, from 0. */
  failures: { [turn: number]: Failure }
  /** The plan of the agent behind `delegate`. */
  inner: ToolName[][]
  /** True for the first turn of a chat. Default: false. */
  isTurn?: boolean
}

const mark = 'The plan: '

export const promptOf = (plan: RunPlan): string => `${mark}${JSON.stringify(plan)}\n`

/** The plan in a text that begins with it, or has it somewhere. */
export const planIn = (text: string): RunPlan => {
  const from = text.indexOf(mark)
  if (from < 0) throw new Error(`There is no plan in: ${text.slice(0, 200)}`)
  const line = text.slice(from + mark.length)
  return JSON.parse(line.slice(0, line.indexOf('\n')))
}

/** The plan of the run behind a call of `delegate`. */
export const innerPlan = (plan: RunPlan, callId: string): RunPlan => ({
  ...plan,
  id: callId,
  agent: 'sequential',
  rounds: plan.inner,
  failures: {},
  inner: [],
})

const agents: readonly AgentName[] = [
  'sequential',
  'sequential',
  'parallel',
  'parallel',
  'reasoning',
  'reflection',
  'fallback',
]

const roundKinds: readonly ToolName[][] = [
  ['note'],
  ['note', 'again'],
  ['note', 'note', 'again'],
  ['settle', 'note'],
  ['settle', 'again', 'settle'],
  ['check'],
  ['check', 'note', 'check'],
  ['delegate'],
  ['delegate', 'note'],
]

/** A run of any kind. */
export const randomPlan = (id: string, { pick, below, chance }: Dice): RunPlan => ({
  id,
  agent: pick(agents),
  rounds: Array.from({ length: 1 + below(3) }, () => pick(roundKinds)),
  words: 4 + below(24),
  failures: chance(0.4) ? { [below(4)]: pick(['refused', 'cut'] as const) } : {},
  inner: pick([[['note']], [['again', 'note']], [['note'], ['settle']], [['check', 'note']]]),
  isTurn: chance(0.2),
})

/** Sub-agents at work. */
export const delegatingPlan = (id: string, { below }: Dice): RunPlan => ({
  id,
  agent: 'sequential',
  rounds: [['delegate'], ['delegate']],
  words: 4 + below(8),
  failures: {},
  inner: [['note'], ['note']],
})
