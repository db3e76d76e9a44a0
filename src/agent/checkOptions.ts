import {
  chatModelRule,
  checkSteps,
  compactionRule,
  limitRules,
  settingRules,
  sharedRules,
} from '../../machines/agent/configRules.ts'
import { policyRule } from '../../machines/policy/policyConfig.ts'
import { misplacedRules } from '../../providers/http/connectionOf.ts'
import { connectionRules } from '../../providers/http/connectionRules.ts'
import type { EmbedOptions, MediaOptions } from '../../providers/provider.ts'
import { ConfigurationError } from '../messages/errors.ts'
import { messageRule } from '../messages/messageFlaw.ts'
import {
  callable,
  checkOptions,
  checkSome,
  checkValue,
  fields,
  having,
  listOf,
  member,
  members,
  object,
  objectOr,
  oneOf,
  orWrite,
  type Rule,
  type Rules,
  rule,
  text,
  wholeFrom,
  writtenAs,
} from '../messages/optionRules.ts'
import { toolsByName } from '../tools/tool.ts'
import type { ChatOptions } from './Chat.ts'
import type { ActorValues, AgentOptions, AnyOptions } from './options.ts'

/** A chat model, or a model string with its own connection. */
const fallbackRule: Rule = (name, value) =>
  typeof value === 'object' && value !== null && 'stream' in value
    ? chatModelRule(name, value)
    : objectOr(
        (each, given) =>
          member('model', text)(each, given) ??
          members(misplacedRules)(each, given) ??
          fields({ model: text, ...connectionRules })(each, given),
        text,
      )(name, value)

const inspectRule = orWrite(objectOr(having('next'), callable), (value) =>
  typeof Object(value).inspect === 'function' ? 'inspect: inspector.inspect' : undefined,
)

/** The fields of a request. The AI SDK puts them under the name of a provider, which no API knows. */
const fieldsOfRequest: Rule = (name, value) => {
  const vendor = Object.keys(Object(value)).find(
    (key) => vendors.test(key) && typeof Reflect.get(Object(value), key) === 'object',
  )
  return vendor === undefined
    ? object(name, value)
    : `${name} are fields of the request, without the name of the provider: write ${name}: { … } with what is in ${vendor}, as its API spells it.`
}

const vendors = /^(anthropic|azure|bedrock|gateway|google|groq|mistral|openai|vertex|xai)$/

const agentRules: Rules<AgentOptions> = {
  ...settingRules,
  ...connectionRules,
  ...sharedRules,
  providerOptions: fieldsOfRequest,
  fallback: orWrite(listOf(fallbackRule), (value) =>
    typeof value === 'string' ? `fallback: ['${value.slice(0, 100)}']` : undefined,
  ),
  compaction: compactionRule(objectOr(chatModelRule, text)),
  policy: (name, value) =>
    value === 'inherit' ? undefined : policyRule(objectOr(chatModelRule, text))(name, value),
  orchestrator: orWrite(having('create'), (value) =>
    typeof value === 'string' || typeof value === 'function' ? 'reflectionOrchestrator()' : undefined,
  ),
  skills: rule('the path of a folder', (value) => typeof value === 'string' && value !== ''),
  clock: having('now', 'setTimeout', 'clearTimeout'),
  inspect: (name, value) => (Array.isArray(value) ? listOf(inspectRule) : inspectRule)(name, value),
}

/** A part that a person attached, perhaps with the file in the wrong place. */
const attachmentRule: Rule = (name, value) => {
  const { type, mimeType, data, url } = Object(value)
  const kind = typeof value === 'string' ? 'a string' : ArrayBuffer.isView(value) ? 'bytes' : 'not a part'
  if (kind !== 'not a part' || value instanceof Blob || value instanceof URL)
    return `${name} is ${kind}: write dataPart(mimeType, bytes) or linkPart(url).`
  if (type === 'data' && typeof mimeType === 'string' && !mimeType.includes('/'))
    return `${name} has no media type first: write dataPart('image/png', bytes).`
  if (type === 'data' && typeof data === 'string' && data.startsWith('data:'))
    return `${name} holds a data: URL: write dataPart('image/png', bytes), or the base64 text after its comma.`
  if (type === 'link' && typeof url === 'string' && /^(\.|\/|~|[A-Za-z]:\\)/.test(url))
    return `${name} is a link to a path: write dataPart('image/png', await readFile(path)).`
  return object(name, value)
}

const attachmentsRule = orWrite(listOf(attachmentRule), (value) =>
  Array.isArray(value) ? undefined : "attachments: [dataPart('image/png', await readFile(path))]",
)

/** Rules for the options of one run. */
const sendRules: Rules<AnyOptions> = {
  ...settingRules,
  providerOptions: fieldsOfRequest,
  id: text,
  history: orWrite(listOf(messageRule), (value) => {
    const { messages, history } = Object(value)
    if (Array.isArray(messages)) return 'history: result.messages'
    return Array.isArray(history) ? 'history: chat.history' : undefined
  }),
  attachments: attachmentsRule,
  metadata: object,
  conversation: text,
  system: sharedRules.system,
  maxSteps: sharedRules.maxSteps,
  limits: fields(limitRules),
  policy: object,
  tools: sharedRules.tools,
  prepareStep: callable,
  signal: orWrite(having('addEventListener'), (value) => {
    if (typeof value === 'number') return `signal: AbortSignal.timeout(${value})`
    return value instanceof AbortController ? 'signal: controller.signal' : undefined
  }),
  onStart: callable,
  onRun: callable,
  prefix: object,
  parent: having('send'),
  schema: (name, value) => (Object(value) === value ? undefined : `${name} must be a schema.`),
  context: () => undefined,
}

const modelString = rule(
  "a model string, such as 'openai:gpt-6-luna', or a chat model",
  (value) => typeof value === 'string',
)
const modelRule = objectOr(
  (name, value) => {
    const { model, stream, doStream } = Object(value)
    if (typeof stream === 'function' || typeof doStream === 'function') return chatModelRule(name, value)
    if (typeof model === 'string')
      return `${name} comes first: write new Agent('${model.slice(0, 100)}', { … }).`
    // An agent has advice of its own.
    if (typeof Object(model).stream === 'function') return chatModelRule(name, value)
    return `${name} is a client or a model of another library: write its name, such as 'openai:gpt-6-luna'.`
  },
  // A cassette plays the part of the network.
  orWrite(modelString, (value) =>
    typeof Object(value).done === 'function'
      ? "new Agent('openai', { connection: { fetch: cassette(path) } })"
      : undefined,
  ),
)

const keepsHistory = 'new Chat(agent), which keeps its history'
const watches = 'inspect: inspector.inspect, or set STATEWIRE_INSPECT=1'
const listens = "run.on('step', …), where run is agent.start(prompt)"

/** Options of other libraries that have no counterpart of the same kind here. */
const otherWays: Readonly<Record<string, Rule>> = {
  activeTools: writtenAs('prepareStep: () => ({ tools: [names] })'),
  checkpointer: writtenAs('openRuns({ store }) of statewire/durable'),
  files: writtenAs('send(prompt, { attachments: [dataPart(mimeType, bytes)] })'),
  images: writtenAs('send(prompt, { attachments: [dataPart(mimeType, bytes)] })'),
  memory: writtenAs(keepsHistory),
  onChunk: writtenAs('for await (const chunk of agent.sendStream(prompt))'),
  onFinish: writtenAs('const result = await agent.send(prompt)'),
  onError: writtenAs('try and catch around await agent.send(prompt)'),
  onStepFinish: writtenAs(listens),
  onToken: writtenAs('for await (const chunk of agent.sendStream(prompt))'),
  output: writtenAs('agent.sendFor(prompt, schema)'),
  outputType: writtenAs('agent.sendFor(prompt, schema)'),
  responseFormat: writtenAs('agent.sendFor(prompt, schema)'),
  response_format: writtenAs('agent.sendFor(prompt, schema)'),
  stream: writtenAs('agent.sendStream(prompt)'),
}

const otherWaysOfAgents: Readonly<Record<string, Rule>> = {
  agents: writtenAs('tools: [agent.asTool({ name, description })]'),
  attachments: writtenAs('send(prompt, { attachments })'),
  context: writtenAs('send(prompt, { context })'),
  debug: writtenAs(watches),
  guardrails: writtenAs('policy'),
  handoffs: writtenAs('tools: [agent.asTool({ name, description })]'),
  history: writtenAs('send(prompt, { history })'),
  interruptBefore: writtenAs('needsApproval: true in the tool'),
  mcpServers: writtenAs('tools: [await connectMcp({ command, args })]'),
  messages: writtenAs('send(prompt, { history: messages })'),
  model: writtenAs("it first, as in new Agent('openai:gpt-6-luna', { … })"),
  proxy: writtenAs('connection: { dispatcher: new ProxyAgent(url) }, with ProxyAgent of undici'),
  schema: writtenAs('agent.sendFor(prompt, schema)'),
  signal: writtenAs('send(prompt, { signal })'),
  subAgents: writtenAs('tools: [agent.asTool({ name, description })]'),
  subagents: writtenAs('tools: [agent.asTool({ name, description })]'),
  verbose: writtenAs(watches),
}

const otherWaysOfRuns: Readonly<Record<string, Rule>> = {
  ...Object.fromEntries(
    Object.keys(agentRules)
      .filter((name) => !Object.hasOwn(sendRules, name))
      .map((name) => [name, writtenAs('it into the options of the agent')]),
  ),
  decisions: writtenAs('resume(result.pendingApproval, decisions)'),
  model: writtenAs('new Agent(model, { … }) for each model'),
  sessionId: writtenAs(keepsHistory),
  threadId: writtenAs(keepsHistory),
  timeout: writtenAs('signal: AbortSignal.timeout(ms)'),
  timeoutMs: writtenAs('signal: AbortSignal.timeout(ms)'),
  timeouts: writtenAs('signal: AbortSignal.timeout(ms), or timeouts into the options of the agent'),
}

/** A text, a list of parts, or a stored run. */
const promptRule: Rule = (name, value) => {
  if (typeof value === 'string' || 'snapshot' in Object(value)) return undefined
  if (!Array.isArray(value)) {
    const { parts, content, '~standard': standard } = Object(value)
    if (standard !== undefined)
      return `${name} is a schema. Write sendFor('…', schema): the prompt comes first.`
    const isMessage = Array.isArray(parts) || typeof content === 'string'
    if (isMessage) return `${name} is a message. Write its text or its list of parts: send(message.parts).`
    const { messages, prompt, input } = Object(value)
    if (Array.isArray(messages)) return `${name} comes first: write send('…', { history: messages }).`
    if (typeof prompt === 'string' || typeof input === 'string')
      return `${name} comes first: write send('…', { … }).`
    return rule('a string or a list of parts', () => false)(name, value)
  }
  const isMessage = value.some((each) => 'role' in Object(each))
  if (isMessage) return `${name} is a list of messages. Write send('…', { history: messages }).`
  return value
    .map((part, index) => attachmentRule(`${name}[${index}]`, part))
    .find((each) => each !== undefined)
}

/** Refuses values that an agent cannot be made of. */
export const checkAgent = (model: unknown, options: AgentOptions<never>): void => {
  checkValue('The model of an agent', model, modelRule)
  checkSome('The options of an agent', options, { ...misplacedRules, ...otherWays, ...otherWaysOfAgents })
  checkOptions('The options of an agent', options, agentRules)
  // Here alone the tools of sources count: what a server lists later must not break a run.
  toolsByName(options.tools ?? [])
  checkSteps(options)
  if (options.policy === 'inherit' && options.orchestrator)
    throw new ConfigurationError(
      "policy: 'inherit' is for agents without an orchestrator: give this one a policy of its own.",
    )
}

const actorRules: Rules<ActorValues & { schema: unknown; conversation: unknown }> = {
  context: sendRules.context,
  tools: sendRules.tools,
  prepareStep: sendRules.prepareStep,
  schema: sendRules.schema,
  // A stored chat gives its turns its own id.
  conversation: sendRules.conversation,
}

/** Refuses values that the actor of a run does not take. */
export const checkActor = (values: object): void =>
  checkOptions('The options of an actor', values, actorRules)

const embedRules: Rules<EmbedOptions> = {
  dimensions: wholeFrom(1),
  signal: sendRules.signal,
  providerOptions: object,
}

const queryRule = orWrite(text, () => 'embedDocuments(texts) for several')

/** Refuses options that a request for embeddings does not take. */
export const checkEmbed = (
  texts: readonly unknown[],
  purpose: 'query' | 'document',
  options: EmbedOptions,
): void => {
  if (purpose === 'query') checkValue('The text of embedQuery', texts[0], queryRule)
  checkValue('The texts of embedDocuments', texts, listOf(text))
  checkOptions('The options of embeddings', options, embedRules)
}

const mediaRules: Rules<MediaOptions> = {
  mimeTypes: listOf(text),
  attachments: attachmentsRule,
  partialImages: wholeFrom(0),
  signal: sendRules.signal,
  providerOptions: object,
}

/** Refuses options that a request for media does not take. */
export const checkMedia = (options: MediaOptions): void =>
  checkOptions('The options of media', options, mediaRules)

/** Refuses options that a run does not take. */
export const checkSend = (from: unknown, options: AnyOptions): void => {
  checkValue('The prompt', from, promptRule)
  checkSome('The options of a send', options, { ...otherWays, ...otherWaysOfRuns })
  checkOptions('The options of a send', options, sendRules)
  checkSteps(options)
}

const chatRules: Rules<ChatOptions> = {
  history: listOf(messageRule),
  whenBusy: oneOf('refuse', 'queue'),
}

const chattingRule = orWrite(having('send', 'sendStream'), (value) => {
  if (typeof value === 'string') return `new Chat(new Agent('${value.slice(0, 100)}'))`
  return typeof Object(Object(value).agent).send === 'function' ? 'new Chat(agent)' : undefined
})

/** Refuses values that a chat cannot be made of. */
export const checkChat = (agent: unknown, options: unknown): void => {
  checkValue('The agent of a chat', agent, chattingRule)
  checkOptions('The options of a chat', options, chatRules)
}

/** Refuses a history for one turn of a chat: the chat would replace it with its own. */
export const checkTurn = (options: unknown): void =>
  checkSome('The options of a send', options, { history: writtenAs('new Chat(agent, { history })') })
