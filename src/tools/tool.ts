import type { AnyActorRef } from 'xstate'
import { ConfigurationError } from '../messages/errors.ts'
import { isJsonObject, type JsonObject } from '../messages/json.ts'
import {
  amount,
  callable,
  checkOptions,
  flag,
  listOf,
  members,
  oneOf,
  type Rule,
  type Rules,
  text,
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
  /** 1, or more for a call that is run again after its process had ended (`onInterrupted`). */
  attempt: number
  /** A key that is the same for every attempt at this call, and for no other call of any run: give it to services that take one. */
  idempotencyKey: string
  /** Counts tokens that the tool itself used towards the run's usage. */
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
  /** The purpose of the tool: the model decides by it. */
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
 * A call whose process ended while it ran may have taken effect, or not. `unknown`: the model learns that. `rerun`: it
 * runs again, with the same `idempotencyKey`. `ask`: a person decides whether to run it again, to treat it as failed,
 * or gives its result.
 */
export type OnInterrupted = 'unknown' | 'rerun' | 'ask'

/** A tool ready to run; made by {@link tool}. `Deps` is the `context` that it needs. */
export type Tool<Deps = unknown> = {
  readonly name: string
  readonly description: string
  /** Null: what the run is asked for (`outputSchema`) is what the tool takes. */
  readonly inputSchema: JsonObject | null
  readonly validate: CompiledSchema<unknown>['validate']
  /** Null: an external tool. */
  readonly execute: ((args: unknown, context: ToolContext<Deps>) => unknown) | null
  readonly needsApproval: boolean | ((args: unknown, run: { context: Deps }) => boolean)
  readonly timeoutMs: number
  readonly endsRun: boolean
  readonly onInterrupted: OnInterrupted
  readonly maxResult: number
  readonly repeatable: boolean
  /** True if its calls are runs of an agent: kept with the run that calls, step by step. */
  readonly isAgent: boolean
  /** True for a tool that the model finds by a search: see `deferred`. */
  readonly isDeferred?: true
  /** The entries of a request's `tools` that define it, by protocol; a function for the others. */
  readonly wire?: ToolWire
  /** The server of a tool that comes from a source: an approval is not for a tool of the same name elsewhere. */
  readonly origin?: string
}

/** A tool whose types are known: pages infer those of their messages from it. */
export type TypedTool<Name extends string, Input, Output, Deps = unknown> = Tool<Deps> & {
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
  needsApproval: (name, value) => (typeof value === 'function' ? undefined : flag(name, value)),
  timeoutMs: amount,
  endsRun: flag,
  onInterrupted: oneOf('unknown', 'rerun', 'ask'),
  maxResult: amount,
  repeatable: flag,
  wire: members({ anthropic: wireEntry, 'openai-responses': wireEntry }),
}

/** Something that {@link tool} made, or a source of such. */
export const toolRule: Rule = (name, value) => {
  const { name: own, validate, tools } = Object(value)
  const isTool = typeof own === 'string' && typeof validate === 'function'
  if (isTool) return undefined
  if (Array.isArray(tools)) return listOf(toolRule)(`${name}.tools`, tools)
  return `${name} is not a tool: make it with tool({ name, description, input, execute }).`
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
  checkOptions('What tool() takes', options, rules)
  const { name, execute, needsApproval = false } = options
  // What a name may hold differs between providers, and each says so itself; none allows blanks.
  if (typeof name !== 'string' || !/^\S{1,128}$/.test(name)) {
    throw new ConfigurationError(
      `"${String(name)}" cannot be a tool name: use 1 to 128 characters without spaces (letters, digits, _ and - work everywhere).`,
    )
  }
  const compiled =
    options.input === undefined
      ? noArguments
      : compileSchema(options.input, `The input of the tool "${name}"`)
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
    timeoutMs: options.timeoutMs ?? defaultToolTimeoutMs,
    endsRun: options.endsRun ?? false,
    onInterrupted: options.onInterrupted ?? 'unknown',
    maxResult: options.maxResult ?? defaultMaxResult,
    repeatable: options.repeatable ?? false,
    isAgent: false,
    ...(options.wire && { wire: options.wire }),
  }
}

/** Any tool, with any `context`. */
export type AnyTool = Tool<never>

/**
 * Something whose tools change during runs, such as a server: each step of a run offers its tools at that moment.
 *
 * @example new Agent('openai:gpt-6-luna', { tools: [weather, await connectMcp({ url })] })
 */
export type ToolSource = { readonly tools: readonly Tool[] }

/** An entry of a list of tools. */
export type AnyToolEntry = AnyTool | ToolSource

export const isToolSource = (entry: AnyToolEntry): entry is ToolSource => 'tools' in entry

/** The tools by name; two of the same name are a mistake. */
export const toolsByName = (entries: readonly AnyToolEntry[]): ReadonlyMap<string, Tool> => {
  const map = new Map<string, Tool>()
  for (const each of entries.flatMap((entry) => (isToolSource(entry) ? entry.tools : entry))) {
    // Several sources may bring the tool that searches them all.
    if (map.get(each.name) === each) continue
    if (map.has(each.name)) throw new ConfigurationError(`Two tools are named "${each.name}".`)
    // The caller passes the context that the tools need: the types of `Agent` make sure of it.
    map.set(each.name, each as Tool)
  }
  return map
}
