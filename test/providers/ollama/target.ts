import type { OllamaProfile } from '../../../providers/ollama/index.ts'
import type { Target } from '../../../providers/wire/protocol.ts'

const profile: OllamaProfile = {
  tools: true,
  parallelTools: true,
  nativeSchema: true,
  schemaWithTools: false,
  thinking: true,
  attachments: { images: true, pdf: false, audio: false, links: false },
}

export const target: Target<OllamaProfile> = { provider: 'ollama', model: 'qwen3:8b', profile }
