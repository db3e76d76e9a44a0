export { Attr, parser, parser_end, parser_write, Token } from 'streaming-markdown'
