import type { Content, GenerationConfig, Tool, ToolConfig } from '@google/genai'

/** The SDK's types as they look on the wire: its enums are plain words there. */
type Wire<T> = T extends string
  ? `${T}`
  : T extends readonly (infer Item)[]
    ? Wire<Item>[]
    : T extends object
      ? { [Key in keyof T]: Wire<T[Key]> }
      : T

/** The REST body of generateContent. The SDK has no type for the whole of it, only for its parts. */
export type GenerateContentBody = {
  systemInstruction?: Wire<Content>
  contents: Wire<Content>[]
  tools?: Wire<Tool>[]
  toolConfig?: Wire<ToolConfig>
  generationConfig?: Wire<GenerationConfig>
}
