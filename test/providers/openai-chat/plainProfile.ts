import type { ModelProfile } from '../../../src/model/chatModel.ts'

/** A model that can do everything, at a server without quirks. */
export const plainProfile: ModelProfile = {
  tools: true,
  parallelTools: true,
  nativeSchema: true,
  schemaWithTools: true,
  thinking: true,
  attachments: { images: true, pdf: true, audio: true, links: true },
}
