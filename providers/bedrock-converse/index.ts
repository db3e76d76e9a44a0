import type { Protocol } from '../wire/protocol.ts'
import { ConverseDecoder } from './decoder.ts'
import { converseError } from './error.ts'
import { type ConverseProfile, converseFields } from './profile.ts'
import { converseRequest } from './request.ts'

export { type ConverseProfile, converseProfile } from './profile.ts'

/** Bedrock's API for the models of all vendors: `POST /model/{model}/converse-stream`, answered in frames of AWS. */
export const bedrockConverse: Protocol<ConverseProfile> = {
  name: 'bedrock-converse',
  knownFields: true,
  profileFields: converseFields,
  request: converseRequest,
  decoder: (target) => new ConverseDecoder(target),
  error: converseError,
}
