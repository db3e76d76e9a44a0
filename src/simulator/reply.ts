import { isJsonObject } from '../messages/json.ts'
import { factsOf, mergeFacts } from './facts.ts'
import { fillSchema, type Source } from './fillSchema.ts'
import { forcedCall, type Plan, planCalls } from './planCalls.ts'
import type { MadeCall, OfferedTool, PlannedCall, SimulatorReply, SimulatorRequest, Turn } from './request.ts'
import { recordsOf, sayResults, type ToolAnswer } from './sayResults.ts'
import { shortened, smallTalk } from './smallTalk.ts'

const returnResult = 'return_result'

/** What the simulator says to a conversation. The same conversation always gets the same reply. */
export const replyTo = (request: SimulatorRequest): SimulatorReply => {
  const scene = sceneOf(request)
  const { calls, lacking } = callsFor(request, scene)
  const thinking = request.isThinking ? thoughts(scene, calls) : ''
  if (calls.length > 0) return { thinking, text: introduction(calls, scene), calls }
  return { thinking, text: finalText(request, scene, lacking), calls: [] }
}

/** The conversation as the rules see it. */
type Scene = {
  /** What the user has said, the question last. */
  said: string[]
  question: string
  made: MadeCall[]
  answers: ToolAnswer[]
}

const sceneOf = ({ turns }: SimulatorRequest): Scene => {
  const asked = turns.findLastIndex(({ role, text }) => role === 'user' && text !== '')
  const said = turns.filter(({ role, text }) => role === 'user' && text !== '').map(({ text }) => text)
  const question = said.at(-1) ?? ''
  const recent = turns.slice(asked)
  // "Now answer the question" is about what was found before it.
  const isAboutEarlier = /\b(?:answer the question|summari[sz]e|sum up|in that shape)\b/i.test(question)
  const told = isAboutEarlier ? turns : recent
  return { said, question, made: told.flatMap(({ calls }) => calls), answers: answersIn(told) }
}

const answersIn = (turns: readonly Turn[]): ToolAnswer[] => {
  const names = new Map(turns.flatMap(({ calls }) => calls).map(({ id, name }) => [id, name]))
  return turns.flatMap(({ results }) =>
    results.map(({ id, text, isError }) => ({ name: names.get(id) ?? 'a tool', text, isError })),
  )
}

const callsFor = (request: SimulatorRequest, scene: Scene): Plan => {
  const { toolChoice, tools, mayCallSeveral } = request
  if (toolChoice === 'none' || tools.length === 0) return { calls: [], lacking: [] }
  const offered = tools.filter(({ name }) => name !== returnResult)
  const wanted =
    typeof toolChoice === 'object' ? tools.filter(({ name }) => name === toolChoice.tool) : offered
  const plan = planFor(scene, wanted)
  const calls = plan.calls.filter((call) => !isMade(call, scene.made))
  if (calls.length > 0) return { ...plan, calls: mayCallSeveral ? calls : calls.slice(0, 1) }
  const last = tools.find(({ name }) => name === returnResult)
  if (last && !scene.made.some(({ name }) => name === returnResult)) {
    return { calls: [forcedCall(last, sourceOf(scene))], lacking: [] }
  }
  const forced = toolChoice === 'auto' || scene.made.length > 0 ? undefined : wanted[0]
  return { calls: forced ? [forcedCall(forced, sourceOf(scene))] : [], lacking: plan.lacking }
}

const planFor = ({ question, said }: Scene, tools: OfferedTool[]): Plan => {
  const plan = planCalls(question, tools, said.slice(0, -1))
  const isAboutEarlier = plan.calls.length === 0 && /\b(?:use|with) (?:the|your) tools\b/i.test(question)
  return isAboutEarlier ? planCalls(said.join('\n'), tools) : plan
}

const isMade = (call: PlannedCall, made: readonly MadeCall[]): boolean =>
  made.some(
    ({ name, arguments: args }) =>
      name === call.name && JSON.stringify(args) === JSON.stringify(call.arguments),
  )

const sourceOf = ({ said, answers }: Scene): Source => {
  const [last = '', ...before] = said.toReversed()
  const found = answers.filter(({ name }) => name !== returnResult)
  return {
    facts: { ...mergeFacts(factsOf(last), ...before.map(factsOf)), text: last },
    records: recordsOf(found),
    sentence: found.length > 0 ? sayResults(found) : '',
  }
}

const finalText = (request: SimulatorRequest, scene: Scene, lacking: OfferedTool[]): string => {
  if (request.outputSchema) return JSON.stringify(fillSchema(request.outputSchema, sourceOf(scene)).value)
  if (scene.answers.length > 0)
    return `${sayResults(scene.answers)} (Said by a simulator, from what the tools answered.)`
  const [tool] = lacking
  if (tool)
    return `To call ${tool.name} I need: ${needsOf(tool)}. I am a simulator and find that in your words only if it is spelled out.`
  return smallTalk({ said: scene.said, toolNames: request.tools.map(({ name }) => name) })
}

const needsOf = ({ parameters }: OfferedTool): string => {
  const required = Array.isArray(parameters.required) ? parameters.required : []
  const names = Object.keys(isJsonObject(parameters.properties) ? parameters.properties : {})
  return (required.length > 0 ? required : names).join(', ')
}

const introduction = (calls: readonly PlannedCall[], { made }: Scene): string => {
  if (made.length > 0 || calls.some(({ name }) => name === returnResult)) return ''
  return calls.length === 1 ? 'Let me look that up.' : `Let me look these ${calls.length} things up.`
}

const thoughts = ({ question, answers }: Scene, calls: readonly PlannedCall[]): string => {
  const asked = `The user says “${shortened(question)}”.`
  if (calls.length > 0)
    return `${asked} By its words, these calls fit: ${calls.map(({ name }) => name).join(', ')}.`
  if (answers.length > 0) return `${asked} The tools have answered: I put that into a sentence.`
  return `${asked} No tool fits, so a rule has to do.`
}
