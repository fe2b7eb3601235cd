// A client on the TypeScript SDK. It lists tools, calls `atoll.list`, follows a pattern, and says on
// standard output, one JSON object a line, what it learns. It ends with its standard input.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const [url, token, mode] = process.argv.slice(2);
const pattern = 'atoll://sandbox/*';
const say = (told) => process.stdout.write(JSON.stringify(told) + '\n');

const client = new Client({ name: 'a test', version: '1' }, { versionNegotiation: { mode } });
client.setNotificationHandler('notifications/resources/updated', (one) => say({ updated: one.params.uri }));
client.setNotificationHandler('notifications/tools/list_changed', () => say({ changed: 'tools' }));
await client.connect(
  new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { Authorization: `Bearer ${token}` } },
  }),
);
say({ version: client.getNegotiatedProtocolVersion() });
say({ tools: (await client.listTools()).tools.map((one) => one.name) });
say({ called: (await client.callTool({ name: 'atoll.list', arguments: {} })).structuredContent });
if (mode === 'legacy') {
  await client.subscribeResource({ uri: pattern });
} else {
  await client.listen({ toolsListChanged: true, resourceSubscriptions: [pattern] });
}
say({ listens: true });
process.stdin.on('end', () => process.exit(0)).resume();
