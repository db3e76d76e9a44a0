import type { AnyActorRef, Snapshot } from 'xstate'
import { ConfigurationError } from '../messages/errors.ts'
import { isJsonObject, type JsonObject } from '../messages/json.ts'
import {
  amount,
  callable,
  checkOptions,
  flag,
  listOf,
  members,
  object,
  oneOf,
  type Rule,
  type Rules,
  rule,
  text,
  wholeFrom,
} from '../messages/optionRules.ts'
import type { Usage } from '../messages/result.ts'
import type { ToolWire } from '../model/chatModel.ts'
import { type CompiledSchema, compileSchema, type Infer, type Schema } from './schema.ts'
import { defaultMaxResult } from './toolResult.ts'

/** The values that a tool gets beside its arguments. */
export type ToolContext<Deps = unknown> = {
  /** The id of the call being answered. */
  callId: string
  /** Aborted when the run is aborted or the tool's time is up. */
  signal: AbortSignal
  /** The values that the sender gave for this run (`SendOptions.context`): the user, a database, a logger. Never stored. */
  context: Deps
  /** 1, or more if the call runs again because its process ended (`onInterrupted`). */
  attempt: number
  /**
   * A key that all attempts at this call share, and no other call of any run has: give it to services that take one.
   */
  idempotencyKey: string
  /** Adds tokens that the tool itself used to the usage of the run. */
  addUsage: (usage: Usage) => void
  /** Reports the progress of a long call, as JSON: listeners get it (`tool.progress`), the model does not. */
  report: (value: unknown) => void
  /** The actor of this call: the parent for actors the tool starts, so that the inspector shows them in their place. */
  self: AnyActorRef | undefined
}

/** Options of {@link tool}. */
export type ToolOptions<S extends Schema, Deps = unknown, Name extends string = string, Result = unknown> = {
  /** The name that the model uses. Letters, digits, `_` and `-` work with every provider. */
  name: Name
  /** The purpose of the tool: the model chooses by it. */
  description: string
  /** The schema of the arguments. Default: no arguments. */
  input?: S
  /**
   * Runs the call. The model gets a string as it is, parts (`dataPart`, `linkPart`, `textPart`, or a list of them) as
   * parts, everything else as JSON. A throw becomes an error result. Default: the tool is external, and a browser, a person
   * or another service answers its calls (`run.answer`).
   */
  execute?: (args: Infer<S>, context: ToolContext<Deps>) => Result
  /** Makes a person approve a call before it runs. Default: `false`. */
  needsApproval?: boolean | ((args: Infer<S>, run: { context: Deps }) => boolean)
  /** The time that a person has to approve a call, or to answer a call of an external tool. Default: no limit. */
  expiresMs?: number
  /** Decides on a call that has expired (`expiresMs`). Default: `'reject'`. */
  onExpired?: OnExpired
  /** The time that a call may take; `Infinity` for no limit. External tools have none. Default: 5 minutes. */
  timeoutMs?: number
  /** The run is complete once this tool has succeeded: the model does not see the result. Default: `false`. */
  endsRun?: boolean
  /** Decides on a call whose process ended while it ran. Default: `'unknown'`. */
  onInterrupted?: OnInterrupted
  /** The tool may be called again and again with the same result, as for polling: it does not count for `limits.repeats`. Default: `false`. */
  repeatable?: boolean
  /**
   * The tool's definition in the words of a provider that has trained its models for it, such as Claude's `memory` or OpenAI's
   * `apply_patch`. Other providers get an ordinary function. Default: a function for all.
   */
  wire?: ToolWire
  /** The number of characters of a result that the model gets. It sees the beginning and the end of a longer one. Default: 65,536. */
  maxResult?: number
}

/**
 * The fate of a call whose process ended while it ran: it may have taken effect or not. `unknown`: the model learns
 * that. `rerun`: it runs again, with the same `idempotencyKey`. `ask`: a person runs it again, treats it as failed, or
 * gives its result.
 */
export type OnInterrupted = 'unknown' | 'rerun' | 'ask'

/**
 * The fate of a call without a decision in time. `reject`: the call does not run, and the model learns why. `approve`:
 * it runs, unless it is in doubt or the agent has a policy: then it is rejected. `fail`: the run fails.
 */
export type OnExpired = 'reject' | 'approve' | 'fail'

/** A tool ready to run; made by {@link tool}. `Deps` is the `context` that it needs. */
export type Tool<Deps = unknown> = {
  readonly name: string
  readonly description: string
  /** Null: the tool takes the answer of the run (`outputSchema`). */
  readonly inputSchema: JsonObject | null
  readonly validate: CompiledSchema<unknown>['validate']
  /** Null: an external tool. */
  readonly execute: ((args: unknown, context: ToolContext<Deps>) => unknown) | null
  readonly needsApproval: boolean | ((args: unknown, run: { context: Deps }) => boolean)
  /** The time that people have to decide on a call, and what happens then; absent for no limit. */
  readonly expiry?: { readonly ms: number; readonly outcome: OnExpired }
  /** The time that a call sleeps: see `sleepTool`. */
  readonly sleepMs?: (args: unknown) => number
  readonly timeoutMs: number
  readonly endsRun: boolean
  readonly onInterrupted: OnInterrupted
  readonly maxResult: number
  readonly repeatable: boolean
  /** True if its calls are runs of an agent: kept with the run that calls, step by step. */
  readonly isAgent: boolean
  /** The tools of an agent that inherits the policy of the run that calls it. */
  readonly inherits?: () => readonly AnyToolEntry[]
  /** The agent (see `Agent.asTool`) or server that works on its calls in the background. */
  readonly background?: BackgroundAgent
  /** True for a tool that the model finds by a search: see `deferred`. */
  readonly isDeferred?: true
  /** The entries of a request's `tools` that define it, by protocol; a function for the others. */
  readonly wire?: ToolWire
  /**
   * The server of a tool that comes from a source: an approval does not count for a tool of the same name elsewhere.
   */
  readonly origin?: string
}

/** An agent, or a tool of a server, whose calls are tasks: each works in the background while the run that started it continues. */
export type BackgroundAgent = {
  /** The prompt of a task, from the arguments of its call. */
  promptOf(args: JsonObject): string
  /** Makes the actor of a task, which reports to the run above `self`. It is not started yet. */
  run(task: BackgroundTask, self: AnyActorRef): AnyActorRef
  /** The run that started a task does not wait for it. */
  readonly detached: boolean
  /** The number of its tasks that work at the same time. */
  readonly maxTasks: number
}

/** A task: its id, which is that of its call, its prompt, and the run that it belongs to. */
export type BackgroundTask = { id: string; prompt: string; run: string; stored?: Snapshot<unknown> }

/** A tool whose types are known: pages infer those of their messages from it. */
type TypedTool<Name extends string, Input, Output, Deps = unknown> = Tool<Deps> & {
  readonly name: Name
  /** Types only: no value is there. */
  readonly '~types'?: { input: Input; output: Output }
}

export const defaultToolTimeoutMs = 300_000

/** A tool without arguments ignores any that a model sends. */
const noArguments: CompiledSchema<unknown> = {
  jsonSchema: { type: 'object', properties: {}, additionalProperties: false },
  validate: () => ({ ok: true, value: {} }),
}

/** An entry of a request's `tools`. */
const wireEntry: Rule = (name, value) =>
  isJsonObject(value) && typeof value.type === 'string'
    ? undefined
    : `${name} must be an entry of the provider's tools, such as { type: 'bash_20250124', name: 'bash' }.`

const rules: Rules<ToolOptions<Schema>> = {
  // The name and the input are checked below, with errors that say more.
  name: () => undefined,
  input: () => undefined,
  description: text,
  execute: callable,
  needsApproval: rule('true, false or a function', (value) => /^(boolean|function)$/.test(typeof value)),
  expiresMs: wholeFrom(1),
  onExpired: oneOf('reject', 'approve', 'fail'),
  timeoutMs: amount,
  endsRun: flag,
  onInterrupted: oneOf('unknown', 'rerun', 'ask'),
  maxResult: amount,
  repeatable: flag,
  wire: members({ anthropic: wireEntry, 'openai-responses': wireEntry }),
}

/** A tool that {@link tool} made, or a source of such tools. */
export const toolRule: Rule = (name, value) => {
  const { name: own, validate, tools } = Object(value)
  const isTool = typeof own === 'string' && typeof validate === 'function'
  if (isTool) return undefined
  if (Array.isArray(tools)) return listOf(toolRule)(`${name}.tools`, tools)
  if ('serverTool' in Object(value))
    return `${name} is run by the provider: write serverTools: [webSearch()], beside tools.`
  if (typeof Object(value).asTool === 'function')
    return `${name} is an agent: write agent.asTool({ name, description }).`
  return foreignTool(name, value) ?? object(name, value) ?? `${name} is not a tool: make it with ${written}.`
}

const written = 'tool({ name, description, input, execute })'

/** A tool as other libraries and providers write it. */
const foreignTool: Rule = (name, value) => {
  const { type, inputSchema, input_schema, parameters, schema, func, function: called } = Object(value)
  if (Array.isArray(value)) return `${name} is a list of tools: write ...tools.`
  if (typeof value === 'function') return `${name} is a function: write ${written}.`
  if (typeof func === 'function' || schema !== undefined)
    return `${name} is a tool of LangChain: write tool({ name, description, input: schema, execute: func }).`
  if (inputSchema !== undefined)
    return `${name} is a tool of another library: write tool({ name, description, input: inputSchema, execute }).`
  if (called !== undefined || input_schema !== undefined || parameters !== undefined)
    return `${name} is a definition alone: write tool({ name, description, input: { jsonSchema }, execute }).`
  return typeof type === 'string'
    ? `${name} has the form of a provider: tools that it runs are values, such as serverTools: [webSearch()], and yours are made with ${written}.`
    : undefined
}

/**
 * Makes a tool. The arguments of `execute` are typed from `input` and are validated before it is called.
 *
 * @example
 * const weather = tool({
 *   name: 'get_weather',
 *   description: 'Current weather in a city',
 *   input: z.object({ city: z.string() }),
 *   execute: async ({ city }) => ({ city, celsius: 21 }),
 * })
 *
 * @example
 * // Typed values of one request: name the type where the context comes in.
 * const orders = tool({
 *   name: 'list_orders',
 *   description: "The user's orders",
 *   execute: (_, { context }: ToolContext<{ userId: string }>) => database.ordersOf(context.userId),
 * })
 */
export const tool = <
  S extends Schema = { jsonSchema: JsonObject },
  Deps = unknown,
  const Name extends string = string,
  Result = unknown,
>(
  options: ToolOptions<S, Deps, Name, Result>,
): TypedTool<Name, Infer<S>, Awaited<Result>, Deps> => {
  if (typeof Object(options).validate === 'function')
    throw new ConfigurationError(
      'What tool() takes is a tool already: use it as it is, or write { ...made, name } without tool() to change it.',
    )
  if (typeof options === 'function' || typeof options === 'string')
    throw new ConfigurationError(`What tool() takes is an object: write ${written}.`)
  checkOptions('What tool() takes', options, rules)
  const { name, execute, needsApproval = false } = options
  // What a name may hold differs between providers, and each says so itself; none allows blanks.
  if (name === undefined) throw new ConfigurationError(`A tool needs a name: write ${written}.`)
  if (typeof name !== 'string' || !/^\S{1,128}$/.test(name)) {
    throw new ConfigurationError(
      `"${String(name)}" cannot be a tool name: use 1 to 128 characters without spaces (letters, digits, _ and - work everywhere).`,
    )
  }
  checkExpiry(options)
  const compiled =
    options.input === undefined
      ? noArguments
      : compileSchema(options.input, `The input of the tool "${name}"`)
  const { type } = compiled.jsonSchema
  if (typeof type === 'string' && type.toLowerCase() !== 'object')
    throw new ConfigurationError(
      `The input of the tool "${name}" describes no object, and arguments have names: write z.object({ … }) around it.`,
    )
  return {
    name,
    description: options.description ?? '',
    inputSchema: compiled.jsonSchema,
    validate: compiled.validate,
    execute: execute ? (args, context) => execute(args as Infer<S>, context) : null,
    needsApproval:
      typeof needsApproval === 'function'
        ? (args, run) => needsApproval(args as Infer<S>, run)
        : needsApproval,
    ...(options.expiresMs !== undefined && {
      expiry: { ms: options.expiresMs, outcome: options.onExpired ?? 'reject' },
    }),
    timeoutMs: options.timeoutMs ?? defaultToolTimeoutMs,
    endsRun: options.endsRun ?? false,
    onInterrupted: options.onInterrupted ?? 'unknown',
    maxResult: options.maxResult ?? defaultMaxResult,
    repeatable: options.repeatable ?? false,
    isAgent: false,
    ...(options.wire && { wire: options.wire }),
  }
}

/** Refuses an expiry that can never happen, or cannot decide. */
const checkExpiry = ({ name, execute, expiresMs, onExpired }: Expiring): void => {
  if (expiresMs === undefined && onExpired !== undefined)
    throw new ConfigurationError(`onExpired of the tool "${name}" needs expiresMs: say when a call expires.`)
  if (onExpired === 'approve' && !execute)
    throw new ConfigurationError(
      `onExpired of the external tool "${name}" cannot be 'approve', because its answer comes from outside: write 'reject' or 'fail'.`,
    )
}

type Expiring = { name: string; execute?: unknown; expiresMs?: number; onExpired?: OnExpired }

/** Any tool, with any `context`. */
export type AnyTool = Tool<never>

/**
 * An object whose tools may change, such as a server: each step of a run offers its current tools.
 *
 * @example new Agent('openai:gpt-6-luna', { tools: [weather, await connectMcp({ url })] })
 */
export type ToolSource = { readonly tools: readonly Tool[] }

/** An entry of a list of tools. */
export type AnyToolEntry = AnyTool | ToolSource

export const isToolSource = (entry: AnyToolEntry): entry is ToolSource => 'tools' in entry

/** The tools of a list, without those of sources, which come and go. */
export const withoutSources = (entries: readonly AnyToolEntry[]): AnyTool[] =>
  entries.flatMap((entry) => (isToolSource(entry) ? [] : [entry]))

const sameName = (name: string): string =>
  `Two tools are named "${name}": give each its own name, such as { ...made, name }.`

/** The tools by name; two of the same name are a mistake. */
export const toolsByName = (entries: readonly AnyToolEntry[]): ReadonlyMap<string, Tool> => {
  const map = new Map<string, Tool>()
  for (const each of entries.flatMap((entry) => (isToolSource(entry) ? entry.tools : entry))) {
    // Several sources may bring the tool that searches them all.
    if (map.get(each.name) === each) continue
    if (map.has(each.name)) throw new ConfigurationError(sameName(each.name))
    // The caller passes the context that the tools need: the types of `Agent` make sure of it.
    map.set(each.name, each as Tool)
  }
  return map
}
