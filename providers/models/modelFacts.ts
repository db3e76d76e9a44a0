import type { Effort, ModelProfile, Thinking } from '../../src/model/chatModel.ts'

/** A kind of content that a model reads beside text. */
export type Medium = 'images' | 'pdf' | 'audio' | 'video'

/** A setting a model answers 400 to: it is left out of the request. */
export type RefusedSetting = 'temperature' | 'topP' | 'stopSequences' | 'seed' | 'parallelToolCalls'

/** `none` is thinking switched off. */
export type EffortWord = 'none' | Effort

/** The facts about one model or family: a row of the table. */
export type ModelFacts = {
  /** A model belongs to the row if its name has one of these in it, as whole words; the longest of all rows wins. */
  names: readonly string[]
  /** The content that it reads beside text. Default: none. */
  reads?: readonly Medium[]
  /** False where links are not followed: attachments go inline. */
  links?: false
  tools?: false
  /** The API takes no JSON Schema for the answer of this model. */
  nativeSchema?: false
  /** The amounts of thinking that it can be asked for, lowest first; `none` where thinking can be switched off. */
  efforts?: readonly EffortWord[]
  /** The tokens that thinking may take, and whether it can be switched off. */
  budget?: { min: number; max: number; canStop: boolean }
  /** True for a model that thinks, and can at most be asked whether to. */
  thinks?: true
  refuses?: readonly RefusedSetting[]
  /** The context window, in tokens. */
  window?: number
  /** The longest answer, in tokens, thinking included. */
  maxOutput?: number
  /** The day on which its provider switches it off, as announced: YYYY-MM-DD. */
  retires?: string
  /** The page or package with these facts. */
  source: string
  /** The day on which they were looked up there: YYYY-MM-DD. Null: not every field was; trust them less. */
  checked: string | null
}

/** A model as a host of open models offers it: which word it takes for thinking, and how much. */
export type HostedFacts = ModelFacts & {
  /** The switch for thinking, where it is not that of the host: `reasoning: { enabled }`, or a setting of the chat template. */
  thinkingControl?: 'reasoning_effort' | 'reasoning' | 'chat_template_kwargs'
  /** The model refuses its own tool calls back without the thinking that led to them. */
  reasoningReplay?: 'reasoning_content'
  /** The vendor whose server tools the model can use there. */
  serverTools?: 'groq'
}

/** The models of one provider. */
export type ModelTable<Facts extends ModelFacts = ModelFacts> = {
  provider: string
  rows: readonly Facts[]
  /** The row for models that are not in the table: the newest family, without its sizes. */
  newest: Facts
}

/** The row of a model, if it is known. */
export const knownModel = <Facts extends ModelFacts>(
  { rows }: Pick<ModelTable<Facts>, 'rows'>,
  model: string,
): Facts | undefined => {
  const name = spelled(model)
  let best: Facts | undefined
  let length = 0
  for (const row of rows) {
    for (const each of row.names) {
      if (each.length <= length || !hasWords(name, spelled(each))) continue
      best = row
      length = each.length
    }
  }
  return best
}

/** The row of a model; that of the newest family where the model is not known. */
export const factsOf = <Facts extends ModelFacts>(table: ModelTable<Facts>, model: string): Facts =>
  knownModel(table, model) ?? table.newest

/**
 * A name with its version in one spelling: `4-5`, `4.5` and `4p5` are the same. Dates stay apart, and so do sizes: the
 * `27b` of `gemma-3-27b` counts weights.
 */
const spelled = (name: string): string =>
  name.toLowerCase().replace(/(?<=\d)[-.p](?=\d{1,2}(?!\d|(?:\.\d+)?[bmk](?![a-z0-9])))/g, '.')

/** True where the name has these whole words in it: `gpt-5` is in `my-gpt-5-mini`, and not in `gpt-5.9`. */
const hasWords = (name: string, words: string): boolean => {
  for (let at = name.indexOf(words); at >= 0; at = name.indexOf(words, at + 1)) {
    const end = at + words.length
    const isNumberNext = name[end] === '.' && isWordCharacter(name[end + 1])
    if (!isWordCharacter(name[at - 1]) && !isWordCharacter(name[end]) && !isNumberNext) return true
  }
  return false
}

const isWordCharacter = (character: string | undefined): boolean =>
  character !== undefined && /[a-z0-9]/.test(character)

/** The abilities of a model, from its row; the rest of a profile is the protocol's. */
export const abilitiesOf = (facts: ModelFacts, rest: Partial<ModelProfile> = {}): ModelProfile => {
  const reads = (medium: Medium): boolean => facts.reads?.includes(medium) ?? false
  const { links = true, tools = true, nativeSchema = true, window, maxOutput } = facts
  return {
    tools,
    parallelTools: tools,
    nativeSchema,
    schemaWithTools: false,
    thinking: thinks(facts),
    attachments: {
      images: reads('images'),
      pdf: reads('pdf'),
      audio: reads('audio'),
      video: reads('video'),
      links,
    },
    ...(window !== undefined && { window }),
    ...(maxOutput !== undefined && { maxOutput }),
    ...rest,
  }
}

const thinks = ({ efforts = [], budget, thinks }: ModelFacts): boolean =>
  thinks === true || budget !== undefined || efforts.length > 0

/** The tokens of each effort, where a model counts them. The first four are Google's own translation. */
const budgets: readonly (readonly [EffortWord, number])[] = [
  ['none', 0],
  ['minimal', 512],
  ['low', 1024],
  ['medium', 8192],
  ['high', 24_576],
  ['xhigh', 32_768],
  ['max', 65_536],
]

/** All words, for models of which nothing is known: the wish is sent as it is. */
export const anyEffort: readonly EffortWord[] = budgets.map(([word]) => word)

const rankOf = (word: EffortWord): number => budgets.findIndex(([each]) => each === word)

/** `true`, for an API that has no word for it. */
export const someThinking = (thinking: Thinking): Thinking =>
  thinking === true ? { effort: 'medium' } : thinking

/**
 * The word for what was wished, of those that the model takes: the nearest one, the higher of two. Undefined where the
 * wish names no amount, or where the model can only be asked to stop.
 */
export const effortFor = (thinking: Thinking, takes: readonly EffortWord[]): EffortWord | undefined => {
  if (thinking === false) return takes[0]
  const wanted = wishedEffort(thinking)
  if (wanted === undefined) return undefined
  // A request for little thinking is not a request for none.
  return nearest(
    wanted,
    takes.filter((word) => word !== 'none'),
  )
}

/** The tokens that were wished: as a number, or as what an effort is worth. 0 switches thinking off. */
export const budgetFor = (thinking: Thinking): number | undefined => {
  if (typeof thinking === 'boolean') return thinking ? undefined : 0
  return thinking.budgetTokens ?? budgets.find(([word]) => word === thinking.effort)?.[1]
}

const wishedEffort = (thinking: Exclude<Thinking, false>): EffortWord | undefined => {
  if (thinking === true) return undefined
  const { effort, budgetTokens } = thinking
  // A negative budget is Google's word for "as much as you like".
  if (effort !== undefined || budgetTokens === undefined || budgetTokens < 0) return effort
  return budgets.find(([word, tokens]) => word !== 'none' && budgetTokens <= tokens)?.[0] ?? 'max'
}

const nearest = (wanted: EffortWord, takes: readonly EffortWord[]): EffortWord | undefined => {
  const distance = (word: EffortWord) => Math.abs(rankOf(word) - rankOf(wanted))
  return takes.toSorted((a, b) => distance(a) - distance(b) || rankOf(b) - rankOf(a))[0]
}
