import { ConfigurationError } from '../messages/errors.ts'

/** The client of the SDK, and its transports. */
export type ClientSdk = typeof import('@modelcontextprotocol/client') &
  Pick<typeof import('@modelcontextprotocol/client/stdio'), 'StdioClientTransport'>

export type ServerSdk = typeof import('@modelcontextprotocol/server')

/** Only those install it who connect. */
export const loadClient = (): Promise<ClientSdk> =>
  loaded('@modelcontextprotocol/client', 'to connect to MCP servers', async () => {
    const [client, { StdioClientTransport }] = await Promise.all([
      import(/* webpackIgnore: true */ '@modelcontextprotocol/client'),
      import(/* webpackIgnore: true */ '@modelcontextprotocol/client/stdio'),
    ])
    return { ...client, StdioClientTransport }
  })

/** Only those install it who serve. */
export const loadServer = (): Promise<ServerSdk> =>
  loaded(
    '@modelcontextprotocol/server',
    'to serve agents over MCP',
    () => import(/* webpackIgnore: true */ '@modelcontextprotocol/server'),
  )

const loaded = async <T>(name: string, why: string, load: () => Promise<T>): Promise<T> => {
  try {
    return await load()
  } catch (cause) {
    throw new ConfigurationError(`The package ${name} is needed ${why}: npm install ${name}.`, { cause })
  }
}
