import type { ModelProfile } from '../../src/model/chatModel.ts'

/** What a model on the Messages API takes and refuses. Each generation of Claude refuses something more with a 400. */
export type AnthropicProfile = ModelProfile & {
  /** The model's output limit; sent when the caller sets none, because the API has no default. */
  defaultMaxTokens: number
  /** Up to Claude 4.5 thinking gets a token budget; from 4.6 on the model decides, and `effort` steers it. */
  thinkingStyle: 'budget' | 'adaptive'
  /**
   * What turns thinking off. Up to Claude 4.8: leaving it out. Opus 5, Sonnet 5 and Haiku 5.5 think unless told
   * `disabled`, Sonnet 5.5 unless told `between_tools`; Fable, Mythos and Opus 5.5 always think.
   */
  thinkingOff: 'omit' | 'disabled' | 'between_tools' | 'never'
  /** Takes `output_config.effort`: Opus 4.5 and everything from 4.6 on. */
  effort: boolean
  /** `temperature` and `top_p`: Claude from 4.1 on takes one of the two, from 4.7 on neither. */
  sampling: 'both' | 'one' | 'none'
  /** Takes `tool_choice` `any` and `tool`: Fable and Mythos 5.1, Opus 5.5 and Sonnet 5.5 do not. */
  forcedToolChoice: boolean
}

type Claude = { line: string; version: number }

/** The profile of a model by its name, also in the spellings of Bedrock, Vertex and gateways. */
export const anthropicProfile = (model: string): AnthropicProfile => {
  const claude = claudeOf(model.toLowerCase())
  return claude ? claudeProfile(claude) : compatibleProfile
}

const claudeOf = (name: string): Claude | undefined => {
  const version = String.raw`(\d)(?:[-.](\d{1,2})(?!\d))?`
  const lineFirst = new RegExp(`claude-(opus|sonnet|haiku|fable|mythos)-${version}`).exec(name)
  if (lineFirst) return claude(lineFirst[1], lineFirst[2], lineFirst[3])
  const versionFirst = new RegExp(`claude-${version}-(opus|sonnet|haiku)`).exec(name)
  if (versionFirst) return claude(versionFirst[3], versionFirst[1], versionFirst[2])
  // A Claude whose version the name does not tell is taken for a new one: it gets only what every model takes.
  return name.includes('claude') ? { line: 'unknown', version: 6 } : undefined
}

const claude = (line = '', major = '', minor = '0'): Claude => ({
  line,
  version: Number(major) + Number(minor) / 10,
})

const claudeProfile = ({ line, version }: Claude): AnthropicProfile => ({
  tools: true,
  parallelTools: true,
  nativeSchema: version >= 4.5,
  schemaWithTools: true,
  thinking: version >= 3.7,
  attachments: { images: true, pdf: version >= 3.5, audio: false, links: true },
  defaultMaxTokens: outputLimit(line, version),
  thinkingStyle: version >= 4.6 ? 'adaptive' : 'budget',
  thinkingOff: thinkingOff(line, version),
  effort: version >= 4.6 || (line === 'opus' && version >= 4.5),
  sampling: version >= 4.7 ? 'none' : version >= 4.1 ? 'one' : 'both',
  forcedToolChoice: version <= 5 || (line === 'haiku' && version < 6),
})

const outputLimit = (line: string, version: number): number => {
  if (version < 3.5) return 4096
  if (version < 3.7) return 8192
  if (line === 'opus' && version < 4.5) return 32_000
  if (version < 4.6 || (line === 'sonnet' && version < 5)) return 64_000
  return 128_000
}

const thinkingOff = (line: string, version: number): AnthropicProfile['thinkingOff'] => {
  if (version < 5) return 'omit'
  if (line === 'haiku' || ((line === 'opus' || line === 'sonnet') && version < 5.5)) return 'disabled'
  return line === 'sonnet' ? 'between_tools' : 'never'
}

/** Other vendors' models behind a Messages endpoint: the oldest common ground. */
const compatibleProfile: AnthropicProfile = {
  tools: true,
  parallelTools: true,
  nativeSchema: false,
  schemaWithTools: false,
  thinking: true,
  attachments: { images: true, pdf: false, audio: false, links: false },
  defaultMaxTokens: 8192,
  thinkingStyle: 'budget',
  thinkingOff: 'omit',
  effort: false,
  sampling: 'both',
  forcedToolChoice: true,
}
