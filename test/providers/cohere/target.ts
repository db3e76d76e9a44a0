import type { CohereProfile } from '../../../providers/cohere/index.ts'
import type { Target } from '../../../providers/wire/protocol.ts'

const profile: CohereProfile = {
  tools: true,
  parallelTools: true,
  nativeSchema: true,
  schemaWithTools: false,
  thinking: true,
  attachments: { images: true, pdf: false, audio: false, links: true },
}

export const target: Target<CohereProfile> = { provider: 'cohere', model: 'command-a-03-2025', profile }
