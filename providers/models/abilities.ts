import type { ModelProfile } from '../../src/model/chatModel.ts'
import type { Medium, ModelFacts } from './modelFacts.ts'

/** What a model can do, as its row says; the rest of a profile is the protocol's. */
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
