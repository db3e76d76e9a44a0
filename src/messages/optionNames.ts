import { distance } from 'fastest-levenshtein'

/** Names that other libraries give to an option, and what to write here. */
const elsewhere: Readonly<Record<string, string>> = {
  abortSignal: 'signal',
  baseURL: 'baseUrl',
  base_url: 'baseUrl',
  api_key: 'apiKey',
  func: 'execute',
  handler: 'execute',
  inputSchema: 'input',
  parameters: 'input',
  schema: 'input',
  instructions: 'system',
  systemPrompt: 'system',
  maxTokens: 'maxOutputTokens',
  max_tokens: 'maxOutputTokens',
  maxCompletionTokens: 'maxOutputTokens',
  maxRetries: 'retry: { maxRetries }',
  maxTurns: 'maxSteps',
  messages: 'history',
  reasoningEffort: 'thinking: { effort }',
  reasoning: 'thinking',
  stop: 'stopSequences',
  stopWhen: 'limits',
  timeout: 'timeouts',
  toolsets: 'tools',
  top_p: 'topP',
  execution: 'toolExecution',
}

/** Advice on an option that does not exist: the name that was probably meant, or the names that there are. */
export const adviceOn = (unknown: string, names: readonly string[]): string => {
  const known = Object.hasOwn(elsewhere, unknown) ? elsewhere[unknown] : undefined
  const [option = ''] = known?.split(':') ?? []
  if (names.includes(option)) return `Write ${known}.`
  const meant = nearest(unknown, names)
  return meant === undefined ? `There are: ${[...names].sort().join(', ')}.` : `Did you mean ${meant}?`
}

/** The name that was probably meant; undefined when none is near: when more than half of it would have to change, or `most`. */
export const nearest = (
  typed: string,
  names: readonly string[],
  most = Number.POSITIVE_INFINITY,
): string | undefined => {
  const changes = (name: string) => distance(typed.toLowerCase(), name.toLowerCase())
  const [best] = names.map((name) => ({ name, count: changes(name) })).sort((a, b) => a.count - b.count)
  return best && best.count <= Math.min(most, Math.ceil(best.name.length / 2)) ? best.name : undefined
}
