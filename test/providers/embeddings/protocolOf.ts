import * as protocols from '../../../providers/embeddings/protocols.ts'
import type { EmbeddingsProtocol } from '../../../providers/embeddings/vectors.ts'

/** The embeddings of a provider, by its name. */
export const protocolOf = (name: string): EmbeddingsProtocol | undefined =>
  Object.values(protocols)
    .filter((each) => typeof each === 'object')
    .find((each) => each.name === name)
