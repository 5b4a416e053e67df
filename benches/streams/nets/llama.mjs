// node llama.mjs MODEL.gguf TOKENS: a prompt, then that many tokens, on llama.cpp's Vulkan back end
import { getLlama, LlamaLogLevel } from "node-llama-cpp";

const [model, count] = [process.argv[2], Number(process.argv[3] ?? 4)];
const llama = await getLlama({
  gpu: "vulkan",
  build: "never",
  skipDownload: true,
  vramPadding: 0,
  ramPadding: 0,
  logLevel: LlamaLogLevel.info,
  logger: (level, message) => console.error(level, message),
});
console.log("device", llama.gpu, await llama.getGpuDeviceNames());
const loaded = await llama.loadModel({ modelPath: model, gpuLayers: 99, ignoreMemorySafetyChecks: true, useMmap: false });
const context = await loaded.createContext({
  contextSize: 256,
  batchSize: 64,
  flashAttention: process.env.FLASH_ATTENTION === "1",
  ignoreMemorySafetyChecks: true,
  sequences: 1,
});
const prompt = [loaded.tokens.bos ?? 1, ...loaded.tokenize("the test of real lists in one dispatch")];
const tokens = [];
for await (const token of context.getSequence().evaluate(prompt, { temperature: 0 })) {
  tokens.push(token);
  if (tokens.length >= count) break;
}
console.log("tokens", tokens.join(" "));
await context.dispose();
await loaded.dispose();
process.exit(0);
