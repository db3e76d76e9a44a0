import type { Effort } from '../../src/model/chatModel.ts'

/** What a model reads beside text. */
export type Medium = 'images' | 'pdf' | 'audio' | 'video'

/** A setting a model answers 400 to: it is left out of the request. */
export type RefusedSetting = 'temperature' | 'topP' | 'stopSequences' | 'seed' | 'parallelToolCalls'

/** `none` is thinking switched off. */
export type EffortWord = 'none' | Effort

/** What is known of one model or family: a row of the table. */
export type ModelFacts = {
  /** A model belongs to the row if its name has one of these in it, as whole words; the longest of all rows wins. */
  names: readonly string[]
  /** Beside text; nothing where it is left out. */
  reads?: readonly Medium[]
  /** It is not shown what is behind a link: attachments go inline. */
  links?: false
  tools?: false
  /** The API takes no JSON Schema for the answer of this model. */
  nativeSchema?: false
  /** How much it can be told to think, lowest first; `none` where thinking can be switched off. */
  efforts?: readonly EffortWord[]
  /** The tokens it may be told to think for, and whether it can be told not to. */
  budget?: { min: number; max: number; canStop: boolean }
  /** It thinks, and can at most be told whether to. */
  thinks?: true
  refuses?: readonly RefusedSetting[]
  /** The context window, in tokens. */
  window?: number
  /** The longest answer, in tokens, thinking included. */
  maxOutput?: number
  /** When its provider switches it off, as announced: YYYY-MM-DD. */
  retires?: string
  /** Where this is from. */
  source: string
  /** When it was looked up there: YYYY-MM-DD. Null: it was not, at least not every field. Trust it less. */
  checked: string | null
}

/** The models of one provider. */
export type ModelTable<Facts extends ModelFacts = ModelFacts> = {
  provider: string
  rows: readonly Facts[]
  /** How models behave that are not in the table: as the newest family does; their size is not known. */
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

/** One spelling of a version, for every vendor: `4-5`, `4.5` and `4p5` are the same, dates and sizes stay apart. */
const spelled = (name: string): string => name.toLowerCase().replace(/(?<=\d)[-.p](?=\d{1,2}(?!\d))/g, '.')

/** Whether the words stand in the name and nothing runs on: `gpt-5` is in `my-gpt-5-mini`, and not in `gpt-5.9`. */
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
