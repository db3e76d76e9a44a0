import { distance } from 'fastest-levenshtein'

/** Names of options in other libraries, and the names to write here. */
const elsewhere: Readonly<Record<string, string>> = {
  abortSignal: 'signal',
  args: 'arguments',
  editedArgs: 'arguments',
  editedArguments: 'arguments',
  baseURL: 'baseUrl',
  base_url: 'baseUrl',
  url: 'baseUrl',
  host: 'baseUrl',
  endpoint: 'baseUrl',
  api_key: 'apiKey',
  proxy: 'dispatcher: new ProxyAgent(url)',
  organization: "headers: { 'OpenAI-Organization': … }",
  func: 'execute',
  handler: 'execute',
  invoke: 'execute',
  run: 'execute',
  inputSchema: 'input',
  parameters: 'input',
  schema: 'input',
  instructions: 'system',
  prompt: 'system',
  systemPrompt: 'system',
  system_prompt: 'system',
  maxTokens: 'maxOutputTokens',
  max_tokens: 'maxOutputTokens',
  maxCompletionTokens: 'maxOutputTokens',
  maxRetries: 'retry: { maxRetries }',
  maxIterations: 'maxSteps',
  maxToolRoundtrips: 'maxSteps',
  maxTurns: 'maxSteps',
  recursionLimit: 'maxSteps',
  messages: 'history',
  reasoningEffort: 'thinking: { effort }',
  reasoning: 'thinking',
  stop: 'stopSequences',
  stopWhen: 'limits',
  reasoning_effort: 'thinking: { effort }',
  runId: 'id',
  thread_id: 'id',
  timeout: 'timeouts: { totalMs }',
  timeoutMs: 'timeouts: { totalMs }',
  toolsets: 'tools',
  top_p: 'topP',
  frequencyPenalty: 'providerOptions: { frequency_penalty }',
  frequency_penalty: 'providerOptions: { frequency_penalty }',
  presencePenalty: 'providerOptions: { presence_penalty }',
  presence_penalty: 'providerOptions: { presence_penalty }',
  topK: 'providerOptions: { top_k }',
  top_k: 'providerOptions: { top_k }',
  extraBody: 'providerOptions',
  extra_body: 'providerOptions',
  db: 'store: sqlite(path)',
  file: 'store: sqlite(path)',
  path: 'store: sqlite(path)',
  recordInputs: 'captureContent',
  recordOutputs: 'captureContent',
  budget: 'budgetTokens',
  budget_tokens: 'budgetTokens',
  threshold: 'at',
  concurrency: 'toolExecution: { concurrency }',
  execution: 'toolExecution',
  parallel: "toolExecution: 'parallel'",
  callbacks: 'inspect',
  experimental_context: 'context',
  deps: 'context',
  experimental_telemetry: 'inspect: telemetry()',
  telemetry: 'inspect: telemetry()',
  mcpServers: 'command and args of one server',
}

/** Advice on an option that does not exist: the name that was probably meant, or the existing names. */
export const adviceOn = (unknown: string, names: readonly string[]): string => {
  const known = Object.hasOwn(elsewhere, unknown) ? elsewhere[unknown] : undefined
  const [option = ''] = known?.split(/[: ]/) ?? []
  if (names.includes(option)) return `Write ${known}.`
  const meant = nearest(unknown, names) ?? sharing(unknown, names)
  return meant === undefined ? `There are: ${[...names].sort().join(', ')}.` : `Did you mean ${meant}?`
}

/** The longest name that contains the typed name, or is part of it: `maxCost` may mean `cost`. */
const sharing = (typed: string, names: readonly string[]): string | undefined => {
  const written = typed.toLowerCase()
  const isPart = (name: string) =>
    name.length > 3 && written.length > 3 && (written.includes(name) || name.includes(written))
  return names.filter((name) => isPart(name.toLowerCase())).sort((a, b) => b.length - a.length)[0]
}

/**
 * The name that was probably meant; undefined if more than a third of every name, or `most` characters, would have to
 * change.
 */
export const nearest = (
  typed: string,
  names: readonly string[],
  most = Number.POSITIVE_INFINITY,
): string | undefined => {
  const changes = (name: string) => distance(typed.toLowerCase(), name.toLowerCase())
  const [best] = names.map((name) => ({ name, count: changes(name) })).sort((a, b) => a.count - b.count)
  const some = best && Math.floor(Math.min(best.name.length, typed.length) / 3) + 1
  return best && some && best.count <= Math.min(most, some) ? best.name : undefined
}
