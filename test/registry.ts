// The tests import the layers one by one: model strings name every provider in all of them, as they do in `statewire`.
import { loadRegistry } from '../providers/registry.ts'

loadRegistry()
