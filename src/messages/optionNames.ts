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

/** The name that was probably meant; undefined when none is near. */
export const nearest = (typed: string, names: readonly string[]): string | undefined => {
  const ranked = names
    .map((name) => ({ name, distance: distance(typed.toLowerCase(), name.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)
  const [best] = ranked
  return best && best.distance <= Math.max(1, Math.floor(best.name.length / 2)) ? best.name : undefined
}

/** Letters to change, add or drop, with a swap of two neighbours as one. */
const distance = (a: string, b: string): number => {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1
      let best = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + cost)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        best = Math.min(best, (before[j - 2] ?? 0) + 1)
      }
      next.push(best)
    }
    before = row
    row = next
  }
  return row[b.length] ?? 0
}
