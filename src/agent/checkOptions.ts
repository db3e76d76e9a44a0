import {
  chatModelRule,
  checkSteps,
  compactionRule,
  limitRules,
  settingRules,
  sharedRules,
} from '../../machines/agent/configRules.ts'
import { policyRule } from '../../machines/policy/policyConfig.ts'
import { headerForms, readHeaders } from '../../providers/http/connection.ts'
import { misplacedRules } from '../../providers/http/connectionOf.ts'
import type { ConnectionOptions, EmbedOptions, TransportOptions } from '../../providers/provider.ts'
import { messageRule } from '../messages/messageFlaw.ts'
import {
  amount,
  callable,
  checkOptions,
  checkSome,
  checkValue,
  fields,
  flag,
  having,
  listOf,
  member,
  members,
  object,
  objectOr,
  type Rule,
  type Rules,
  rule,
  text,
  wholeFrom,
} from '../messages/optionRules.ts'
import type { ModelProfile } from '../model/chatModel.ts'
import type { Limits } from '../transport/limits.ts'
import type { ActorValues, AgentOptions, AnyOptions } from './options.ts'

const sizeRules: Rules<Limits> = {
  maxEventSize: amount,
  maxResponseSize: amount,
  maxDocumentSize: amount,
  maxErrorBodySize: amount,
}

const isHttpUrl = (value: unknown): boolean =>
  typeof value === 'string' && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)

const keyForms = 'a string, AWS credentials, or a function that returns either'
const credentialsRule: Rule = (name, value) =>
  member('accessKeyId', text)(name, value) ?? member('secretAccessKey', text)(name, value)
const keyRule = objectOr(
  credentialsRule,
  rule(keyForms, (value) => typeof value === 'string' || typeof value === 'function'),
)

const priceRules = { input: amount, output: amount, cached: amount, written: amount, above: fields({}) }

const profileRules: Rules<ModelProfile & { like: string }> = {
  like: text,
  tools: flag,
  parallelTools: flag,
  nativeSchema: flag,
  schemaWithTools: flag,
  thinking: flag,
  deferredTools: flag,
  appendsChanges: flag,
  attachments: fields({ images: flag, pdf: flag, audio: flag, video: flag, links: flag }),
  window: wholeFrom(1),
  maxOutput: wholeFrom(1),
  prices: fields(priceRules),
}

const transportRules: Rules<TransportOptions> = {
  dispatcher: having('dispatch'),
  fetch: callable,
  limits: fields(sizeRules),
}

const connectionRules: Rules<ConnectionOptions> = {
  apiKey: keyRule,
  baseUrl: (name, value) =>
    isHttpUrl(value)
      ? undefined
      : `${name} must be an absolute http or https URL, such as https://api.openai.com/v1.`,
  headers: rule(headerForms, (value) => readHeaders(value) !== undefined),
  connection: fields(transportRules),
  // A protocol has fields of its own, which it checks itself.
  profile: members(profileRules),
}

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

const inspectRule = objectOr(members({ next: callable }), callable)

const agentRules: Rules<AgentOptions> = {
  ...settingRules,
  ...connectionRules,
  ...sharedRules,
  fallback: listOf(fallbackRule),
  compaction: compactionRule(objectOr(chatModelRule, text)),
  policy: policyRule(objectOr(chatModelRule, text)),
  orchestrator: having('create'),
  skills: rule('the path of a folder', (value) => typeof value === 'string' && value !== ''),
  clock: having('now', 'setTimeout', 'clearTimeout'),
  inspect: (name, value) => (Array.isArray(value) ? listOf(inspectRule) : inspectRule)(name, value),
}

/** Rules for the options of one run. */
const sendRules: Rules<AnyOptions> = {
  ...settingRules,
  id: text,
  history: listOf(messageRule),
  attachments: listOf(object),
  metadata: object,
  conversation: text,
  system: text,
  maxSteps: sharedRules.maxSteps,
  limits: fields(limitRules),
  policy: object,
  tools: sharedRules.tools,
  prepareStep: callable,
  signal: having('addEventListener'),
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
  (name, value) =>
    typeof Object(value).model === 'string' && typeof Object(value).stream !== 'function'
      ? `${name} comes first: write new Agent('${Object(value).model.slice(0, 100)}', { … }).`
      : chatModelRule(name, value),
  modelString,
)

/** A text, a list of parts, or a stored run. */
const promptRule: Rule = (name, value) => {
  if (typeof value === 'string' || 'snapshot' in Object(value)) return undefined
  if (!Array.isArray(value))
    return `${name} must be a string or a list of parts. Write send('…', { history }).`
  const isMessage = value.some((each) => 'role' in Object(each))
  return isMessage ? `${name} is a list of messages. Write send('…', { history: messages }).` : undefined
}

/** Refuses what an agent cannot be made of. */
export const checkAgent = (model: unknown, options: AgentOptions<never>): void => {
  checkValue('The model of an agent', model, modelRule)
  checkSome('The options of an agent', options, misplacedRules)
  checkOptions('The options of an agent', options, agentRules)
  checkSteps(options)
}

const actorRules: Rules<ActorValues & { schema: unknown; conversation: unknown }> = {
  context: sendRules.context,
  tools: sendRules.tools,
  prepareStep: sendRules.prepareStep,
  schema: sendRules.schema,
  // A stored chat gives its turns its own id.
  conversation: sendRules.conversation,
}

/** Refuses what the actor of a run cannot be given. */
export const checkActor = (values: object): void =>
  checkOptions('The options of an actor', values, actorRules)

const embedRules: Rules<EmbedOptions> = {
  dimensions: wholeFrom(1),
  signal: sendRules.signal,
  providerOptions: object,
}

/** Refuses what a request for embeddings cannot be given. */
export const checkEmbed = (options: EmbedOptions): void =>
  checkOptions('The options of embeddings', options, embedRules)

/** Refuses what a run cannot be given. */
export const checkSend = (from: unknown, options: AnyOptions): void => {
  checkValue('The prompt', from, promptRule)
  checkOptions('The options of a send', options, sendRules)
  checkSteps(options)
}
