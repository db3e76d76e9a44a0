import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** Recorded answers of real providers. They are not part of this repository: tests that need them say so. */
const folder = fileURLToPath(new URL('../../../shared/recordings', import.meta.url))

export const hasRecordings = existsSync(folder)

export const missingRecordings = `There are no recordings in ${folder}: their tests are skipped.`

export type Recording = {
  id: string
  protocol: string
  provider: string
  request: { path: string; body: unknown }
  response: { status: number; body: string; contentType?: string; chunkSizes?: number[] }
}

export type ExpectedCall = { id: string | null; name: string; arguments: unknown }

export type Expected = {
  text: string
  /** The text of each message. */
  textParts?: string[]
  thinking: string
  toolCalls: ExpectedCall[]
  finishReason: string | null
  usage: ExpectedUsage | null
  responseId: string | null
  error?: unknown
}

/** Counts as the wire has them: what Anthropic cached and what Gemini thought are beside, not inside. */
type ExpectedUsage = {
  input?: number
  output?: number
  cached?: number
  cacheWrite?: number
  reasoning?: number
  toolUseInput?: number
}

export type Got = {
  text: string
  thinking: string
  toolCalls: ExpectedCall[]
  finishReason: string | null
  usage: { input?: number | undefined; output?: number | undefined } | null
  responseId: string | null
  error?: unknown
}

export type Chunking = 'whole' | 'recorded' | 'lines' | 'random' | 'bytes'

export type Conversation = { id: string; protocol: string; provider: string; exchanges: Recording[] }

type Replayer = {
  serve(options: { chunking: Chunking; seed?: number }): Promise<{
    add(recording: Recording): string
    conversation(conversation: Conversation): { base: string; requests: { path: string; body: string }[] }
    close(): Promise<void>
  }>
  compare(expected: Expected, got: Got): unknown[]
}

export const loadReplayer = (): Promise<Replayer> => import(pathToFileURL(`${folder}/serve.mjs`).href)

const read = (path: string) => JSON.parse(readFileSync(`${folder}/${path}`, 'utf8'))

export const protocols = [
  'openai-chat',
  'openai-responses',
  'anthropic',
  'google',
  'ollama',
  'mistral',
  'cohere',
] as const

/** The provider of each protocol that the recordings are replayed through. */
export const providerOf = (protocol: string): string => (protocol === 'openai-chat' ? 'openai' : protocol)

export const loadStreams = (protocol: string): { recording: Recording; expected: Expected }[] =>
  readdirSync(`${folder}/streams/${protocol}`).map((file) => ({
    recording: read(`streams/${protocol}/${file}`),
    expected: ofClient(read(`expected/${protocol}/${file}`)),
  }))

/** An expected result without the calls that xAI's search on X makes itself, which the independent reader took for the client's. */
const ofClient = (expected: Expected): Expected => ({
  ...expected,
  toolCalls: expected.toolCalls.filter(({ id }) => !id?.startsWith('xs_')),
})

/** An expected result with its counts in statewire's one meaning: input is all input, output all output. */
export const withOneMeaning = ({ protocol, provider, response }: Recording, given: Expected): Expected => {
  const expected = { ...given, text: textIn(response.body, given) }
  const { usage } = expected
  if (!usage) return expected
  const isBeside = protocol === 'google' || (protocol === 'openai-chat' && provider === 'xai')
  const sum = (...counts: (number | undefined)[]) => counts.reduce((a: number, b) => a + (b ?? 0), 0)
  const input =
    protocol === 'anthropic'
      ? sum(usage.input, usage.cached, usage.cacheWrite, compacted(response.body, 'input_tokens'))
      : sum(usage.input, usage.toolUseInput)
  const beside = compacted(response.body, 'output_tokens')
  const output = isBeside
    ? sum(usage.output, usage.reasoning)
    : beside > 0
      ? sum(usage.output, beside)
      : usage.output
  return {
    ...expected,
    usage: {
      ...usage,
      ...(usage.input !== undefined && { input }),
      ...(output !== undefined && { output }),
    },
  }
}

/** The text of an answer: a gap sets what the model says while it works apart from what follows. */
const textIn = (body: string, { text, textParts }: Expected): string =>
  textParts && body.includes('"phase":"commentary"') ? textParts.join('\n\n') : text

/** The tokens of a compaction at the provider, which the independent reader left out. */
const compacted = (body: string, field: 'input_tokens' | 'output_tokens'): number => {
  const found = [...body.matchAll(/"iterations":(\[[^\]]*\])/g)].at(-1)?.[1]
  const iterations: { type: string; input_tokens: number; output_tokens: number }[] = JSON.parse(
    found ?? '[]',
  )
  return iterations.filter(({ type }) => type === 'compaction').reduce((sum, each) => sum + each[field], 0)
}

export const loadConversations = (): Conversation[] =>
  readdirSync(`${folder}/conversations`).map((file) => read(`conversations/${file}`))

/** The reading of a recorded answer by an independent reader; not every exchange of a conversation has one. */
export const expectedOf = ({ protocol, id }: Recording): Expected | undefined =>
  existsSync(`${folder}/expected/${protocol}/${id}.json`)
    ? read(`expected/${protocol}/${id}.json`)
    : undefined

export const loadEmbeddings = (protocol: string): Recording[] =>
  existsSync(`${folder}/embeddings/${protocol}`)
    ? readdirSync(`${folder}/embeddings/${protocol}`).map((file) => read(`embeddings/${protocol}/${file}`))
    : []

export const loadErrors = (protocol: string): Recording[] =>
  readdirSync(`${folder}/errors/${protocol}`).map((file) => read(`errors/${protocol}/${file}`))
