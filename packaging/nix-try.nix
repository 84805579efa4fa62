# Evaluates the flake against a stand-in for nixpkgs: what the package and the shell are asked for, as data.
let
  flake = import ../flake.nix;
  pkgs = name: {
    rustPlatform.buildRustPackage = arguments: removeAttrs arguments [ "src" "cargoLock" ];
    mkShell = arguments: arguments;
    installShellFiles = "installShellFiles";
    lib.licenses = { asl20 = "asl20"; mit = "mit"; };
    cargo = "cargo"; clippy = "clippy"; rustfmt = "rustfmt"; cmake = "cmake"; pkg-config = "pkg-config"; go = "go"; nodejs = "nodejs"; python3 = "python3";
  };
  systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
  nixpkgs.legacyPackages = builtins.listToAttrs (map (name: { inherit name; value = pkgs name; }) systems);
in
flake.outputs { self = ./..; inherit nixpkgs; }
