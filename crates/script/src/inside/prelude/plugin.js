// What tools and plug-ins import to be checked by their editor: `tool` gives back what it is given.
export default (function (haft) {
  "use strict";
  const z = haft.builtin("zod");
  const tool = (definition) => definition;
  tool.schema = z;
  return { tool, z, default: tool };
});
