// The baseline of `webhook_vs_probot`: probot set up as in its documentation, with an empty handler.
// It checks the signature and parses the body, but stores nothing.
import { createServer } from "node:http";
import { Probot, createNodeMiddleware } from "probot";

const [port, secret, privateKey] = process.argv.slice(2);
const probot = new Probot({ appId: 1, privateKey, secret, logLevel: "fatal" });
const app = (robot) => robot.on("issue_comment.created", () => undefined);
const middleware = await createNodeMiddleware(app, { probot, webhooksPath: "/webhook" });
createServer(middleware).listen(Number(port), "127.0.0.1", () => console.log("listening"));
