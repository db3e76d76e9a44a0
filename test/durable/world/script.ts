import { digestOf, type Said } from './conversation.ts'
import { innerPlan, planIn, promptOf, type RunPlan, type ToolName } from './plan.ts'

/** The next answer of the model: a text in words, and calls. */
export type ScriptedTurn = {
  plan: RunPlan
  /** Answers before this one. */
  turn: number
  words: string[]
  calls: { id: string; name: ToolName; arguments: { [name: string]: string } }[]
}

/** The texts that announce the phases of the orchestrators: only some of them may use tools. */
export const reasoning = {
  analysis: 'PHASE analysis',
  hypothesis: 'PHASE hypothesis',
  evidence: 'PHASE evidence',
  synthesis: 'PHASE synthesis',
}
export const reflection = { critique: 'PHASE critique', revision: 'PHASE revision' }

const phases = { ...reasoning, ...reflection }

const withoutTools = [phases.analysis, phases.hypothesis, phases.synthesis, phases.critique]

/**
 * The answer to a conversation, and to nothing else: who asks again gets the same again. Its text names everything that
 * was said before, so that a history which differs from what the model really saw does not fit its answers.
 */
export const turnFor = (said: readonly Said[]): ScriptedTurn => {
  const asked = said.flatMap((each) => (each.by === 'user' ? [each.text] : []))
  const plan = planIn(asked[0] ?? '')
  const turn = turnsIn(said)
  const phase = phaseOf(asked)
  const isRevised = phase === phases.critique && asked.filter((text) => text.includes(phase)).length > 1
  const words = [
    ...(isRevised ? ['APPROVED'] : []),
    `[${plan.id}/${turn}]`,
    `#${digestOf(said)}`,
    ...Array.from({ length: plan.words }, (_, index) => `w${turn}.${index}`),
  ]
  const rounds = said.filter((each, index) => isCall(each) && !isCall(said[index - 1])).length
  const names = withoutTools.includes(phase) ? [] : (plan.rounds[rounds] ?? [])
  const calls = names.map((name, index) => {
    const id = callIdOf(plan, turn, index, name)
    return { id, name, arguments: name === 'delegate' ? { prompt: promptOf(innerPlan(plan, id)) } : {} }
  })
  return { plan, turn, words, calls }
}

/** Unique among all runs, the same whenever the turn is asked for, and it ends with its tool. */
const callIdOf = ({ id }: RunPlan, turn: number, index: number, tool: ToolName): string =>
  `${id}.t${turn}c${index}.${tool}`

/** The tool of a call. */
export const toolOf = (callId: string): string => callId.slice(callId.lastIndexOf('.') + 1)

export const textOfTurn = ({ words }: ScriptedTurn): string => words.join(' ')

const isCall = (said: Said | undefined): boolean => said?.by === 'model' && 'callId' in said

/** Answers so far; a text and the calls after it are one. */
const turnsIn = (said: readonly Said[]): number =>
  said.filter((each, index) => each.by === 'model' && said[index - 1]?.by !== 'model').length

const phaseOf = (asked: readonly string[]): string => {
  const text = asked.findLast((each) => each.includes('PHASE ')) ?? ''
  return Object.values(phases).find((phase) => text.includes(phase)) ?? ''
}
