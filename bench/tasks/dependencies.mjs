// Everything that statewire is built on, and nothing else.
import '@cfworker/json-schema'
import 'eventsource-parser'
import 'undici'
import 'xstate'
import 'zod'
