import { isJsonObject, type JsonObject, type JsonValue } from '../messages/json.ts'
import { countOfValues, expressionsIn, filesIn, fillSchema, type Source, wordsOf } from './fillSchema.ts'
import type { MadeCall, OfferedTool, PlannedCall, SimulatorReply, SimulatorRequest, Turn } from './wire.ts'

/** The tool that clients add to get a typed answer. */
const returnResult = 'return_result'

/**
 * The reply to a conversation, always the same for the same one. The rules, in this order:
 * 1. Each sentence calls the tools whose names it has, once for each value that it has for their parameters.
 * 2. A typed answer is filled from the results of tools, and from the user's words.
 * 3. Otherwise the results of tools become the answer.
 * 4. "Count to 30" is counted, and a critic that may say APPROVED does. Anything else is quoted.
 */
export const replyTo = (request: SimulatorRequest): SimulatorReply => {
  const scene = sceneOf(request)
  const { calls, lacking } = callsFor(request, scene)
  const names = calls.map(({ name }) => name)
  const thinking = request.isThinking
    ? `The user says “${shortened(scene.question)}”. Calls that fit: ${names.join(', ') || 'none'}.`
    : ''
  if (calls.length === 0) return { thinking, text: finalText(request, scene, lacking), calls }
  const isFirst = scene.made.length === 0 && !names.includes(returnResult)
  const intro = calls.length === 1 ? 'Let me look that up.' : `Let me look these ${calls.length} things up.`
  return { thinking, text: isFirst ? intro : '', calls }
}

type ToolAnswer = { name: string; text: string; isError: boolean }

/** The conversation as the rules see it: calls and answers are those since the question. */
type Scene = { said: string[]; question: string; made: MadeCall[]; answers: ToolAnswer[] }

const sceneOf = ({ turns }: SimulatorRequest): Scene => {
  const isSaid = ({ role, text }: Turn) => role === 'user' && text !== '' && !isTaskResult(text)
  const said = turns.filter(isSaid).map(({ text }) => text)
  const question = said.at(-1) ?? ''
  const asked = turns.findLastIndex(isSaid)
  // A request for the answer is about everything that was found before it.
  const recent = /\banswer\b|\bsummari[sz]e\b/i.test(question) ? turns : turns.slice(asked)
  return { said, question, made: recent.flatMap(({ calls }) => calls), answers: answersIn(recent) }
}

/** Recognises the results of background agents, which come as messages of the user. */
const isTaskResult = (text: string): boolean => text.startsWith('The task "')

const answersIn = (turns: readonly Turn[]): ToolAnswer[] => {
  const names = new Map(turns.flatMap(({ calls }) => calls).map(({ id, name }) => [id, name]))
  return turns.flatMap(({ role, results, text: said }) => [
    ...results.map(({ id, text, isError }) => ({ name: names.get(id) ?? 'a tool', text, isError })),
    ...(role === 'user' && isTaskResult(said) ? [{ name: 'a task', text: said, isError: false }] : []),
  ])
}

/** Calls to make; `lacking` are the tools that are named, but need something that is not. */
type Plan = { calls: PlannedCall[]; lacking: OfferedTool[] }

const callsFor = ({ toolChoice, tools, mayCallSeveral }: SimulatorRequest, scene: Scene): Plan => {
  if (toolChoice === 'none') return { calls: [], lacking: [] }
  const isWanted = ({ name }: OfferedTool) =>
    typeof toolChoice === 'object' ? name === toolChoice.tool : name !== returnResult
  const wanted = tools.filter(isWanted)
  const { calls, lacking } = planFor(scene, wanted)
  const made = new Set(scene.made.map(keyOf))
  const open = calls.filter((call) => !made.has(keyOf(call)))
  if (open.length > 0) return { calls: mayCallSeveral ? open : open.slice(0, 1), lacking }
  const isReturned = scene.made.some(({ name }) => name === returnResult)
  const last = isReturned ? undefined : tools.find(({ name }) => name === returnResult)
  const forced = last ?? (toolChoice === 'auto' || made.size > 0 ? undefined : wanted[0])
  return { calls: forced ? [callOf(forced, sourceOf(scene)).call] : [], lacking }
}

const keyOf = ({ name, arguments: args }: PlannedCall): string => JSON.stringify([name, args])

/** "Use the tools" is about the first question. */
const planFor = ({ question, said }: Scene, tools: readonly OfferedTool[]): Plan => {
  const plan = planCalls(question, tools)
  const isAboutFirst = plan.calls.length === 0 && /\btools\b/i.test(question)
  return isAboutFirst ? planCalls(said[0] ?? '', tools) : plan
}

/** The calls that a question asks for. */
export const planCalls = (question: string, tools: readonly OfferedTool[]): Plan => {
  const calls = new Map<string, PlannedCall>()
  const lacking: OfferedTool[] = []
  for (const sentence of question.split(/(?<=[.?!])\s+|\n+/)) {
    for (const tool of tools.filter(({ name }) => isNamed(name, sentence))) {
      const inSentence = callsOf(tool, sentence)
      const found = inSentence.length > 0 ? inSentence : callsOf(tool, question)
      for (const call of found) calls.set(keyOf(call), call)
      if (found.length === 0) lacking.push(tool)
    }
  }
  return { calls: [...calls.values()], lacking }
}

/** A sentence names `get_order` by the word "order". A file in it counts as the word "file", arithmetic as "calculator". */
const isNamed = (tool: string, sentence: string): boolean => {
  const said = new Set(stemsOf(sentence))
  if (filesIn(sentence).length > 0) said.add('file')
  if (expressionsIn(sentence).length > 0) said.add('calculator')
  return stemsOf(tool).every((word) => said.has(word) || word === 'get' || word === 'current')
}

const stemsOf = (text: string): string[] =>
  wordsOf(text)
    .split(' ')
    .map((word) => word.replace(/s$/, ''))

const callsOf = (tool: OfferedTool, text: string): PlannedCall[] =>
  Array.from({ length: countOfValues(tool.parameters, text) }, (_, nth) =>
    callOf(tool, { text, records: [], sentence: '' }, nth),
  ).flatMap(({ call, isGuess }) => (isGuess ? [] : [call]))

const callOf = ({ name, parameters }: OfferedTool, source: Source, nth = 0) => {
  const { value, isGuess } = fillSchema(parameters, source, nth)
  return { call: { name, arguments: isJsonObject(value) ? value : {} }, isGuess }
}

const sourceOf = ({ question, answers }: Scene): Source => {
  const found = answers.filter(({ name }) => name !== returnResult)
  const records = found.flatMap(({ text, isError }): JsonObject[] => {
    const value = isError ? undefined : parsed(text)
    return Array.isArray(value) ? value.filter(isJsonObject) : isJsonObject(value) ? [value] : []
  })
  return { text: question, records, sentence: found.map(sentenceOf).join(' ') }
}

const finalText = (
  { outputSchema, tools }: SimulatorRequest,
  scene: Scene,
  lacking: OfferedTool[],
): string => {
  const { question, answers, said } = scene
  if (outputSchema) return JSON.stringify(fillSchema(outputSchema, sourceOf(scene)).value)
  if (answers.length > 0)
    return `${answers.map(sentenceOf).join(' ')} (Said by a simulator, from what the tools answered.)`
  const [tool] = lacking
  if (tool) return `To call ${tool.name} I need: ${needsOf(tool)}. (I am a simulator.)`
  if (/\bAPPROVED\b/.test(question)) return 'APPROVED. (I am a simulator.)'
  const [, last] = /\bcount to (\d{1,6})/i.exec(question) ?? []
  if (last !== undefined)
    return Array.from({ length: Math.min(Number(last), 500) }, (_, at) => at + 1).join(' ')
  const names = tools.map(({ name }) => name).join(', ')
  const earlier = said.slice(0, -1).map((text) => `“${shortened(text)}”`)
  return [
    `I am a simulator with a few rules, and none of them fits “${shortened(question)}”.`,
    ...(earlier.length > 0 ? [`Before that you said ${earlier.slice(-mostQuotes).join(', ')}.`] : []),
    names === '' ? 'I have no tools here.' : `I can call these tools: ${names}.`,
  ].join(' ')
}

const needsOf = ({ parameters }: OfferedTool): string => {
  const required = Array.isArray(parameters.required) ? parameters.required : []
  const names = Object.keys(isJsonObject(parameters.properties) ? parameters.properties : {})
  return (required.length > 0 ? required : names).join(', ')
}

const longestAnswer = 600
const mostQuotes = 5

/** The answer of a tool as a sentence: `get_weather: city Oslo, celsius 21.` */
const sentenceOf = ({ name, text, isError }: ToolAnswer): string => {
  const value = parsed(text)
  const error = isJsonObject(value) && typeof value.error === 'string' ? value.error : undefined
  if (isError || error !== undefined) return ended(`${name} did not work: ${error ?? text}`)
  return ended(shortened(typeof value === 'string' ? value : `${name}: ${phraseOf(value)}`, longestAnswer))
}

const phraseOf = (value: JsonValue): string => {
  if (Array.isArray(value)) return value.map(phraseOf).join('; ') || 'nothing'
  if (!isJsonObject(value)) return String(value)
  return Object.entries(value)
    .map(([key, each]) => `${key} ${phraseOf(each)}`)
    .join(', ')
}

const ended = (text: string): string => (/[.!?…]\s*$/.test(text) ? text.trim() : `${text.trim()}.`)

const shortened = (text: string, longest = 80): string =>
  text.length > longest ? `${text.slice(0, longest).trimEnd()}…` : text

const parsed = (text: string): JsonValue => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
