import { ModelError } from '../../src/messages/errors.ts'
import { isJsonObject, type JsonValue } from '../../src/messages/json.ts'
import type { LinkPart } from '../../src/messages/messages.ts'
import { anthropicFilesBeta } from '../anthropic/request.ts'
import type { ProviderRequest } from '../http/connection.ts'
import { fileLink } from '../wire/attachedFile.ts'
import { objectAt, stringAt } from '../wire/json.ts'
import { formData, relatedParts, type UploadedFile } from './multipart.ts'

/** The way of a file to a provider that keeps it. */
export type FilesProtocol = {
  request(file: UploadedFile): ProviderRequest
  /** The base URL of uploads, where it is another one. */
  baseUrl?(ownUrl: string): string
  /** The part for later messages. */
  read(answer: JsonValue, file: UploadedFile): LinkPart
}

const byId = (scheme: 'openai-file' | 'anthropic-file'): FilesProtocol['read'] => {
  return (answer, { mimeType, name }) => {
    const id = isJsonObject(answer) ? stringAt(answer, 'id') : undefined
    if (!id) throw noFile()
    return { type: 'link', url: fileLink(scheme, id), mimeType, name }
  }
}

const noFile = (): ModelError =>
  new ModelError('The answer to the upload names no file.', { code: 'invalid_upload' })

export const openaiFiles: FilesProtocol = {
  request: (file) => ({
    path: '/files',
    ...formData([
      { name: 'purpose', value: 'user_data' },
      { name: 'file', file },
    ]),
  }),
  read: byId('openai-file'),
}

export const anthropicFiles: FilesProtocol = {
  request: (file) => {
    const { bytes, headers } = formData([{ name: 'file', file }])
    return { path: '/files', bytes, headers: { ...headers, 'anthropic-beta': anthropicFilesBeta } }
  },
  read: byId('anthropic-file'),
}

/** Google's files have an address, which the model reads like any other. */
export const googleFiles: FilesProtocol = {
  baseUrl: (url) => url.replace(/\/(v1\w*)\/?$/, '/upload/$1'),
  request: (file) => {
    const { bytes, headers } = relatedParts({ file: { displayName: file.name } }, file)
    return { path: '/files', bytes, headers: { ...headers, 'x-goog-upload-protocol': 'multipart' } }
  },
  read: (answer, { mimeType, name }) => {
    const url = isJsonObject(answer) ? stringAt(objectAt(answer, 'file'), 'uri') : undefined
    if (!url) throw noFile()
    return { type: 'link', url, mimeType, name }
  },
}
